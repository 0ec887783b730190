"""spark-submit driver of `crisp aggregate`, with its arguments: from days of the lake to marts.

spark-submit --master spark://HOST:7077 jobs/spark/aggregate.py OUT --date 2026-11-20
"""

import sys

from crisp.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["aggregate", "--engine", "spark"]
    main()
