# SPDX-License-Identifier: GPL-2.0-or-later
"""Validates JSON documents against a JSON Schema, with what our schemas use; anything else in
a schema is an error, so that no rule passes unchecked. json_schema.py SCHEMA DOCUMENT..."""
import json
import sys

KINDS = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
}
KNOWN = {"$schema", "$id", "title", "description", "type", "required", "properties",
         "additionalProperties", "items", "enum", "const"}


def problems(schema, value, at):
    """Yields a sentence for each rule that value breaks."""
    for key in schema:
        if key not in KNOWN:
            raise SystemExit(f"the schema has {key} at {at}, which this validator does not know")
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(KINDS[k](value) for k in kinds):
        yield f"{at}: {value!r} is none of {kinds}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{at}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if isinstance(value, dict):
        yield from of_object(schema, value, at)
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from problems(schema.get("items", {}), item, f"{at}[{i}]")


def of_object(schema, value, at):
    known = schema.get("properties", {})
    rest = schema.get("additionalProperties", True)
    for key in schema.get("required", []):
        if key not in value:
            yield f"{at}: {key} is missing"
    for key, item in value.items():
        if key in known:
            yield from problems(known[key], item, f"{at}.{key}")
        elif rest is False:
            yield f"{at}: {key} is not known"
        elif isinstance(rest, dict):
            yield from problems(rest, item, f"{at}.{key}")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        schema = json.load(f)
    bad = 0
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as f:
            for text in problems(schema, json.load(f), "report"):
                print(f"{path}: {text}")
                bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
