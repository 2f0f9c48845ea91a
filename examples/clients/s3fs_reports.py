"""s3fs: a bucket as a file system; a large file in parts, ranges of it, and copies that nobody downloads.

AWS_ENDPOINT_URL=http://127.0.0.1:4566 python s3fs_reports.py
"""

from __future__ import annotations

import s3fs

BUCKET = "s3fs-reports"
BLOCK_BYTES = 5 * 1024**2
LINES, LINES_AT_ONCE = 1_500_000, 1_000


def main() -> None:
    """Write reports, read them, move them, and print what is there."""
    files = s3fs.S3FileSystem()
    files.mkdir(BUCKET)
    with files.open(f"{BUCKET}/2025/january.csv", "wb", block_size=BLOCK_BYTES) as report:
        for start in range(0, LINES, LINES_AT_ONCE):
            report.write(b"".join(b"%07d\n" % number for number in range(start, start + LINES_AT_ONCE)))
    with files.open(f"{BUCKET}/2025/january.csv", "rb") as report:
        report.seek(1_000_000 * len(b"0000000\n"))
        print("line 1000000:", report.readline().decode().strip())
    files.pipe(f"{BUCKET}/2025/notes ä+b.txt", b"one")
    with files.open(f"{BUCKET}/2025/notes ä+b.txt", "ab") as notes:
        notes.write(b", two")
    files.copy(f"{BUCKET}/2025/january.csv", f"{BUCKET}/2026/january.csv")
    files.mv(f"{BUCKET}/2025/notes ä+b.txt", f"{BUCKET}/2026/notes.txt")
    print("notes:", files.cat(f"{BUCKET}/2026/notes.txt").decode())
    for name, found in sorted(files.find(BUCKET, detail=True).items()):
        print(name, found["size"])
    files.rm(BUCKET, recursive=True)
    print("left:", files.exists(BUCKET))


if __name__ == "__main__":
    main()
