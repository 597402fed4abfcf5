//! Whether a text is a JSON Schema: the keywords that all drafts share have values of the right kind.
//!
//! Invariant: a keyword that is not known here is accepted, as in all drafts.

use serde_json::Value;

const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "integer", "string"];

/// The reason why a text is not a schema, if it is none.
pub(in super::super) fn check(text: &str) -> Result<(), String> {
    let schema = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    check_schema(&schema)
}

fn check_schema(schema: &Value) -> Result<(), String> {
    let object = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(object) => object,
        _ => return Err(format!("a schema is expected in place of {schema}")),
    };
    for (keyword, value) in object {
        check_keyword(keyword, value).map_err(|reason| format!("\"{keyword}\": {reason}"))?;
    }
    Ok(())
}

fn check_keyword(keyword: &str, value: &Value) -> Result<(), String> {
    let expected = |is_valid: bool, what: &str| match is_valid {
        true => Ok(()),
        false => Err(format!("{what} is expected in place of {value}")),
    };
    match keyword {
        "type" => expected(
            match value {
                Value::Array(names) => !names.is_empty() && names.iter().all(is_type),
                name => is_type(name),
            },
            "the name of a type, or a list of them,",
        ),
        "$ref" | "$id" | "$schema" | "pattern" | "format" | "title" | "description" => {
            expected(value.is_string(), "a text")
        }
        "enum" => expected(value.is_array(), "a list"),
        // In the first drafts it stands at the property itself.
        "required" if value.is_boolean() => Ok(()),
        "required" => {
            let is_valid = value.as_array().is_some_and(|names| names.iter().all(Value::is_string));
            expected(is_valid, "a list of names")
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            let is_whole = value.is_u64() || value.as_f64().is_some_and(|it| it >= 0.0 && it.fract() == 0.0);
            expected(is_whole, "a count")
        }
        "minimum" | "maximum" | "multipleOf" => expected(value.is_number(), "a number"),
        "properties" | "patternProperties" | "definitions" | "$defs" => match value.as_object() {
            Some(schemas) => schemas.iter().try_for_each(|(name, schema)| {
                check_schema(schema).map_err(|reason| format!("\"{name}\": {reason}"))
            }),
            None => expected(false, "an object"),
        },
        "allOf" | "anyOf" | "oneOf" => match value.as_array() {
            Some(schemas) if !schemas.is_empty() => schemas.iter().try_for_each(check_schema),
            _ => expected(false, "a list of schemas"),
        },
        "items" if value.is_array() => value.as_array().into_iter().flatten().try_for_each(check_schema),
        "items"
        | "additionalItems"
        | "additionalProperties"
        | "propertyNames"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else" => check_schema(value),
        _ => Ok(()),
    }
}

fn is_type(name: &Value) -> bool {
    name.as_str().is_some_and(|name| TYPES.contains(&name))
}
