//! The rules of data contracts, as registries describe them, and the errors about those that are needed.
//!
//! This client applies no rule: no well-kept library does it outside Confluent's own clients. Invariant: a schema whose
//! rules cannot be read is an error, since a value may be encrypted.

use ottla_schema::{DataContract, Rule, RulePhase};
use serde_json::{Value, json};

use crate::printable::printable;

/// The lists of a rule set, and when their rules apply.
const LISTS: [(&str, RulePhase); 3] = [
    ("domainRules", RulePhase::Domain),
    ("encodingRules", RulePhase::Encoding),
    ("migrationRules", RulePhase::Migration),
];

/// Checks that a data contract can be sent, and its rules read.
///
/// # Errors
/// What is wrong with which part.
pub fn check_contract(contract: &DataContract) -> Result<(), String> {
    if let Some(text) = &contract.metadata {
        serde_json::from_str::<Value>(text).map_err(|error| format!("metadata: {error}"))?;
    }
    rules_of(contract).map(drop).map_err(|why| format!("rule_set: {why}"))
}

/// Reads the rules of a data contract that are not disabled.
///
/// # Errors
/// The rules cannot be read.
pub fn rules_of(contract: &DataContract) -> Result<Vec<Rule>, String> {
    let Some(text) = &contract.rule_set else { return Ok(Vec::new()) };
    let rule_set: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    of(&json!({ "ruleSet": rule_set }))
}

/// Reads the rules of a schema that are not disabled.
pub(super) fn of(body: &Value) -> Result<Vec<Rule>, String> {
    let rule_set = match body.get("ruleSet") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(rule_set) => rule_set.as_object().ok_or("its field \"ruleSet\" is not an object")?,
    };
    let mut rules = Vec::new();
    for (list, phase) in LISTS {
        let items = match rule_set.get(list) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(items)) => items,
            Some(_) => return Err(format!("the field \"{list}\" of its rules is not a list")),
        };
        for item in items.iter().filter(|item| item.get("disabled") != Some(&Value::Bool(true))) {
            let text =
                |field| item.get(field).and_then(Value::as_str).map(printable).unwrap_or_default().into();
            rules.push(Rule { name: text("name"), rule_type: text("type"), mode: text("mode"), phase });
        }
    }
    Ok(rules)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    #[test]
    fn rules_that_are_not_disabled_are_read() {
        assert_eq!(of(&json!({})), Ok(vec![]));
        assert_eq!(of(&json!({"ruleSet": null})), Ok(vec![]));
        let rule = json!({"name": "pii", "kind": "TRANSFORM", "type": "ENCRYPT", "mode": "WRITEREAD"});
        let disabled = json!({"name": "old", "type": "CEL", "mode": "WRITE", "disabled": true});
        let body = json!({"ruleSet": {"domainRules": [rule, disabled], "migrationRules": null, "encodingRules": [{}]}});
        let found: Vec<String> = of(&body).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["\"pii\" (ENCRYPT, WRITEREAD)", "\"\" (, )"]);
        for malformed in [json!({"ruleSet": []}), json!({"ruleSet": {"domainRules": {}}})] {
            assert!(of(&malformed).is_err(), "{malformed}");
        }
    }
}
