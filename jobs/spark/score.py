"""spark-submit driver of `crisp score`, with its arguments: from a day of the lake to scores.

spark-submit --master spark://HOST:7077 jobs/spark/score.py OUT --date 2026-11-20
"""

import sys

from crisp.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["score", "--engine", "spark"]
    main()
