"""spark-submit driver of `crisp train`, with its arguments: from a window of the lake to models.

spark-submit --master spark://HOST:7077 jobs/spark/train.py OUT --date 2026-11-20
"""

import sys

from crisp.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["train", "--engine", "spark"]
    main()
