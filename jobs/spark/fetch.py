"""spark-submit driver of `crisp fetch`, with its arguments: executors pull a day from Jaeger.

spark-submit --master spark://HOST:7077 jobs/spark/fetch.py --jaeger URL --date 2026-11-20 -o OUT
"""

import sys

from crisp.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["fetch", "--engine", "spark"]
    main()
