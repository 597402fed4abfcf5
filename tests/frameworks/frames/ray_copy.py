"""Copy the topic `orders` to `copied` with Ray, and print what was read as JSON.

The topic `bad` is read after its first records were deleted, which fails.
"""

import json
import os
import sys

import ray
import ray.data

import ottla
import ottla.ray

KAFKA = os.environ["KAFKA"]


def main() -> None:
    """Run Ray in this process and its workers, on two processors."""
    # Workers have another directory of programs; they find ottla as this process does.
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    source = ottla.ray.KafkaDatasource("orders", KAFKA, columns=["key", "value", "offset"])
    tasks = len(source.get_read_tasks(6))
    dataset = ray.data.read_datasource(source)
    rows = sorted((row["key"], row["offset"]) for row in dataset.iter_rows())
    dataset.select_columns(["key", "value"]).write_datasink(
        ottla.ray.KafkaDatasink("copied", KAFKA)
    )
    empty = ray.data.read_datasource(ottla.ray.KafkaDatasource("empty", KAFKA)).count()
    bad = ray.data.read_datasource(ottla.ray.KafkaDatasource("bad", KAFKA))
    with ottla.Admin(KAFKA) as admin:
        admin.delete_records({("bad", 0): 3})
    failures = []
    for run in (
        bad.materialize,
        lambda: ray.data.from_items([{"other": 1}]).write_datasink(
            ottla.ray.KafkaDatasink("copied", KAFKA)
        ),
        lambda: ottla.ray.KafkaDatasink("copied", KAFKA, transactional_id="t"),
        lambda: ottla.ray.KafkaDatasink("copied", KAFKA, acks="0"),
        lambda: ottla.ray.KafkaDatasink("copied", KAFKA, {"transactional_id": "t"}),
        lambda: ottla.ray.KafkaDatasink("copied", KAFKA, {"request.required.acks": "0"}),
    ):
        try:
            run()
        except Exception as error:  # noqa: BLE001 - printed
            failures.append(str(error))
    found = {"tasks": tasks, "rows": len(rows), "empty": empty, "failures": failures}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
