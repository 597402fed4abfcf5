"""Avro: the schema of a shape, and the conversion between objects and what the core decodes.

Invariants: the schema depends on the type alone; whatever ``dump`` returns, the schema holds.
"""

from __future__ import annotations

import json
from typing import Any

from ottla.schema.objects.avro_schema import AvroSchema
from ottla.schema.objects.avro_values import dumper, loader
from ottla.schema.objects.conversion import Conversion
from ottla.schema.objects.shape_reader import ShapeReader


def avro_conversion(of: Any) -> Conversion:
    """Return how objects of a type are converted from and to values of Avro.

    Raises:
        SchemaError: the type has no schema; the message names the field.
    """
    shape = ShapeReader().shape(of, getattr(of, "__name__", "the type"))
    schema = AvroSchema(dumper).of(shape, getattr(of, "__name__", "the type"))
    return Conversion(json.dumps(schema), loader(shape), dumper(shape))
