//! The tables of both processors, as the build reads them.

#[path = "../build/fields.rs"]
mod fields;
#[path = "../build/tables.rs"]
mod tables;

use serde_json::{Value, json};

fn table(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn both() -> [Value; 2] {
    [
        table(include_str!("../layouts.json")),
        table(include_str!("../layouts.aarch64.json")),
    ]
}

/// The definitions of the generated text, without the values.
fn definitions(json: &Value) -> String {
    let text = tables::generate(&fields::variants(json), "");
    let values = text.find("static LAYOUTS").expect("the values come last");
    text[..values].to_owned()
}

#[test]
fn the_same_code_reads_both_processors_records() {
    let [x86_64, aarch64] = both();
    assert_eq!(definitions(&x86_64), definitions(&aarch64));
}

#[test]
fn both_tables_know_the_same_releases_and_constants() {
    let [x86_64, aarch64] = both().map(|json| {
        let mut variants = json["variants"].clone();
        for variant in variants.as_array_mut().unwrap() {
            variant.as_object_mut().unwrap().remove("structs");
        }
        variants
    });
    assert_eq!(x86_64, aarch64);
}

#[test]
fn an_unread_field_has_no_member_until_the_list_is_shortened() {
    let [mut json, _] = both();
    assert!(!definitions(&json).contains("slurmd_conf_t.cpu_spec_list"));
    json["unread"] = json!({});
    assert!(definitions(&json).contains("slurmd_conf_t.cpu_spec_list"));
}

#[test]
#[should_panic(expected = "`unread` lists env_t.no_such_field")]
fn an_unread_field_that_is_in_no_variant_is_an_error() {
    let [mut json, _] = both();
    json["unread"] = json!({"env_t": ["no_such_field"]});
    fields::variants(&json);
}
