"""JSON schemas (draft 2020-12) of what we write for other systems and for ourselves, each from its owner's documentation; nothing else may stand there."""

NUMBER = {"type": "number", "minimum": 0}
TEXT = {"type": "string"}
COUNTERS = {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": ["number", "null"]}}}
KINDS = {"type": ["string", "null"], "minLength": 1}


def closed(required: dict, optional: dict | None = None) -> dict:
    """An object with these properties and no others."""
    return {"type": "object", "properties": required | (optional or {}), "required": list(required), "additionalProperties": False}


def many(items: dict) -> dict:
    return {"type": "array", "items": items}


VERDICT = closed(
    {
        "key": {"type": "string", "pattern": r"^ch\d\d[a-z]_[a-z0-9_]+$"},
        "score": NUMBER,
        "max_score": {"type": "number", "exclusiveMinimum": 0},
        "kind": KINDS,
        "message": {"type": "string", "maxLength": 2000},
        "line": {"type": ["integer", "null"], "minimum": 1},
        "cases": many(closed({"name": TEXT, "passed": {"type": "boolean"}, "visible": {"type": "boolean"}, "message": TEXT})),
        "counters": COUNTERS,
        "source_sha256": {"type": "string", "pattern": "^([0-9a-f]{64})?$"},
        "testset": {"type": "string", "minLength": 16},
    }
)
TEACHERS = closed(VERDICT["properties"] | {"seed": {"type": ["integer", "null"]}})
RESULT = closed(
    {
        "schema": {"const": "lanewise/submission/v1"},
        "assignment": TEXT,
        "assignment_sha256": TEXT,
        "submission": TEXT,
        "submitted": {"type": ["string", "null"]},
        "late": {"type": ["boolean", "null"]},
        "visibility": {"enum": ["hidden", "after_due_date", "after_published", "visible"]},
        "graded": TEXT,
        "status": {"enum": ["graded", "infrastructure"]},
        "score": NUMBER,
        "max_score": NUMBER,
        "notes": many({"type": "string", "maxLength": 400}),
        "verdicts": many(TEACHERS),
        "protections": many(TEXT),
        "seconds": NUMBER,
    }
)
STUDENT = closed(
    {
        "schema": {"const": "lanewise/student-report/v1"},
        "assignment": TEXT,
        "submission": TEXT,
        "submitted": {"type": ["string", "null"]},
        "late": {"type": ["boolean", "null"]},
        "status": {"enum": ["graded", "infrastructure"]},
        "score": NUMBER,
        "max_score": NUMBER,
        "notes": many(TEXT),
        "exercises": many(
            closed(
                {
                    "key": TEXT,
                    "score": NUMBER,
                    "max_score": NUMBER,
                    "kind": KINDS,
                    "message": TEXT,
                    "line": {"type": ["integer", "null"]},
                    "cases": many(closed({"name": TEXT, "passed": {"type": "boolean"}})),
                    "hidden": closed({"passed": {"type": "integer"}, "of": {"type": "integer"}}),
                    "counters": COUNTERS,
                }
            )
        ),
    }
)

# Gradescope, "Autograder Specifications", output format.
VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
OUTPUT_FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
GRADESCOPE = closed(
    {"tests": many(closed({"score": NUMBER, "max_score": NUMBER}, {
        "name": TEXT, "name_format": OUTPUT_FORMAT, "number": TEXT, "output": TEXT, "output_format": OUTPUT_FORMAT, "tags": many(TEXT),
        "visibility": VISIBILITY, "extra_data": {"type": "object"}, "status": {"enum": ["passed", "failed"]},
    }))},
    {
        "score": NUMBER, "execution_time": NUMBER, "output": TEXT, "output_format": OUTPUT_FORMAT, "test_output_format": OUTPUT_FORMAT,
        "test_name_format": OUTPUT_FORMAT, "visibility": VISIBILITY, "stdout_visibility": VISIBILITY, "extra_data": {"type": "object"},
        "leaderboard": many(closed({"name": TEXT, "value": {"type": ["number", "string"]}}, {"order": {"enum": ["asc", "desc"]}})),
    },
)  # fmt: skip

# Classroom 50, classroom50/result/v1.
INTEGER = {"type": "integer", "minimum": 0}
CLASSROOM50 = closed(
    {
        "schema": {"const": "classroom50/result/v1"},
        "classroom": {"type": "string", "minLength": 1},
        "assignment": {"type": "string", "minLength": 1},
        "usernames": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
        "submission": {"type": "string", "minLength": 1},
        "commit": TEXT,
        "release": TEXT,
        "review": TEXT,
        "datetime": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
        "score": INTEGER,
        "max-score": INTEGER,
        "tests": many(closed({"test-name": {"type": "string", "minLength": 1}, "passed": {"type": "boolean"}, "score": INTEGER, "max-score": INTEGER})),
    }
)

# PrairieLearn, "External grading", results/results.json.
PRAIRIELEARN = closed(
    {"gradable": {"type": "boolean"}, "score": {"type": "number", "minimum": 0, "maximum": 1}},
    {
        "message": TEXT,
        "output": TEXT,
        "tests": many(closed({"name": TEXT, "points": NUMBER, "max_points": NUMBER}, {"description": TEXT, "message": TEXT, "output": TEXT})),
    },
)
