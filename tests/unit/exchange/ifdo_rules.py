"""The rules of version 2.1.0 of the iFDO schema that concern an export of still images.

Written from the published rules: required fields, types, enumerations, the form of identifiers, annotations.
"""

UUID4 = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"
NAMED = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "uri": {"type": "string"}}}
NUMBER = {"type": "number"}
ANNOTATION = {
    "type": "object",
    "required": ["shape", "coordinates", "labels"],
    "properties": {
        "shape": {"enum": ["single-pixel", "polyline", "polygon", "circle", "rectangle", "ellipse", "whole-image"]},
        "coordinates": {"type": "array", "minItems": 1, "items": {"type": "array", "items": NUMBER}},
        "labels": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["label", "annotator", "created-at"],
                "properties": {
                    "label": {"type": "string"},
                    "annotator": {"type": "string"},
                    "created-at": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$"},
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                },
            },
        },
    },
    "allOf": [
        {
            "if": {"properties": {"shape": {"const": shape}}},
            "then": {"properties": {"coordinates": {"items": {"minItems": least, "maxItems": most}}}},
        }
        for shape, least, most in (
            ("whole-image", 0, 0),
            ("single-pixel", 2, 2),
            ("circle", 3, 3),
            ("rectangle", 8, 8),
            ("polyline", 4, 10_000),
            ("polygon", 8, 10_000),
        )
    ],
}
FIELDS = {
    "image-set-name": {"type": "string"},
    "image-set-uuid": {"type": "string", "pattern": UUID4},
    "image-set-handle": {"type": "string"},
    "image-set-ifdo-version": {"const": "v2.1.0"},
    "image-uuid": {"type": "string", "pattern": UUID4},
    "image-hash-sha256": {"type": "string", "minLength": 64, "maxLength": 64},
    "image-handle": {"type": "string"},
    "image-datetime": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$"},
    "image-latitude": {"type": "number", "minimum": -90, "maximum": 90},
    "image-longitude": {"type": "number", "minimum": -180, "maximum": 180},
    "image-altitude-meters": NUMBER,
    "image-meters-above-ground": NUMBER,
    "image-area-square-meters": NUMBER,
    "image-coordinate-reference-system": {"type": "string"},
    "image-coordinate-uncertainty-meters": NUMBER,
    "image-context": NAMED,
    "image-project": NAMED,
    "image-event": NAMED,
    "image-platform": NAMED,
    "image-sensor": NAMED,
    "image-pi": NAMED,
    "image-license": NAMED,
    "image-creators": {"type": "array", "items": NAMED},
    "image-copyright": {"type": "string"},
    "image-abstract": {"type": "string"},
    "image-acquisition": {"enum": ["photo", "video", "slide"]},
    "image-camera-yaw-degrees": NUMBER,
    "image-camera-pitch-degrees": NUMBER,
    "image-camera-roll-degrees": NUMBER,
    "image-annotation-labels": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["id", "name"],
            "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "info": {"type": "string"}},
        },
    },
    "image-annotation-creators": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["id", "name"],
            "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
        },
    },
    "image-annotations": {"type": "array", "items": ANNOTATION},
}
IN_HEADER = [
    "image-set-name",
    "image-set-uuid",
    "image-set-handle",
    "image-set-ifdo-version",
    "image-datetime",
    "image-latitude",
    "image-longitude",
    "image-altitude-meters",
    "image-coordinate-reference-system",
    "image-coordinate-uncertainty-meters",
    "image-context",
    "image-project",
    "image-event",
    "image-platform",
    "image-sensor",
    "image-pi",
    "image-creators",
    "image-license",
    "image-copyright",
    "image-abstract",
]
IN_ITEM = ["image-uuid", "image-hash-sha256", "image-handle"]
SCHEMA = {
    "type": "object",
    "required": ["image-set-header", "image-set-items"],
    "properties": {
        "image-set-header": {"type": "object", "required": IN_HEADER, "properties": FIELDS},
        "image-set-items": {
            "type": "object",
            "additionalProperties": {"type": "object", "required": IN_ITEM, "properties": FIELDS},
        },
    },
}
