"""spark-submit driver of `crisp analyse`, with its arguments: from trace files to days of the lake.

spark-submit --master spark://HOST:7077 jobs/spark/analyse.py TRACES --date 2026-11-20 -o OUT
"""

import sys

from crisp.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["analyse", "--engine", "spark"]
    main()
