"""Sum the offsets of the topic `orders` with dask, in processes, and print the result as JSON."""

import json
import os
import sys

import dask

import ottla
import ottla.dask

KAFKA = os.environ["KAFKA"]


def main() -> None:
    """Compute with threads and with processes."""
    frame = ottla.dask.read_kafka("orders", KAFKA, max_records=30)
    found = {"partitions": frame.npartitions, "types": [str(one) for one in frame.dtypes]}
    found["empty"] = len(ottla.dask.read_kafka("empty", KAFKA).compute())
    for scheduler in ("threads", "processes"):
        with dask.config.set(scheduler=scheduler):
            offsets = frame[frame["partition"] == 0]["offset"].compute()
            found[scheduler] = sorted(int(offset) for offset in offsets)
    bad = ottla.dask.read_kafka("bad", KAFKA)
    with ottla.Admin(KAFKA) as admin:
        admin.delete_records({("bad", 0): 3})
    try:
        bad.compute()
    except ottla.errors.DataLossError as error:
        found["failure"] = str(error)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
