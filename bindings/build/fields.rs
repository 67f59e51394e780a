//! The Rust type of each C type of `layouts.json`, and the fields of every variant.
//! In: the file without the fields that nothing reads. Out: one `Record` per C record.

use serde_json::Value;
use std::collections::BTreeMap;

/// C record, our member of `Layout`, our type.
pub const RECORDS: [(&str, &str, &str); 14] = [
    ("launch_tasks_request_msg_t", "launch", "LaunchFields"),
    ("batch_job_launch_msg_t", "batch", "BatchFields"),
    ("stepd_step_rec_t", "step", "StepFields"),
    ("stepd_step_task_info_t", "task", "TaskFields"),
    ("env_t", "child_env", "ChildEnvFields"),
    ("slurm_cred_arg_t", "cred", "CredFields"),
    ("slurmd_conf_t", "slurmd_conf", "SlurmdConfFields"),
    ("slurm_step_id_t", "step_id", "StepIdFields"),
    ("slurm_conf_t", "slurm_conf", "SlurmConfFields"),
    ("job_option_info_t", "job_option", "JobOptionFields"),
    ("xcpuset_t", "xcpuset", "XcpusetFields"),
    ("gres_state_t", "gres", "GresFields"),
    ("gres_job_state_t", "gres_job", "GresJobFields"),
    ("gres_step_state_t", "gres_step", "GresStepFields"),
];

/// The variants without the fields that `unread` lists: the data has them before any code does.
pub fn variants(json: &Value) -> Vec<Value> {
    let mut variants = json["variants"]
        .as_array()
        .expect("a list `variants`")
        .clone();
    for (record, fields) in json["unread"].as_object().expect("`unread` by record") {
        for field in fields.as_array().expect("a list of fields") {
            let field = field.as_str().expect("a field's name");
            let mut known = false;
            for variant in &mut variants {
                let fields = variant["structs"][record].as_object_mut();
                known |= fields.is_some_and(|fields| fields.remove(field).is_some());
            }
            assert!(
                known,
                "`unread` lists {record}.{field}, which is in no variant"
            );
        }
    }
    variants
}

/// One field over all variants.
pub struct FieldKind {
    pub rust: &'static str,
    /// Absent in a variant that has the record.
    pub optional: bool,
}

/// One record over all variants.
pub struct Record {
    pub fields: BTreeMap<String, FieldKind>,
    /// The record itself is absent in some variant.
    pub optional: bool,
}

/// The Rust type that is read in place of a C type, and the size it must have there.
fn rust_type(c: &str) -> (&'static str, &'static [u64]) {
    match c {
        "uint16_t" => ("u16", &[2]),
        "uint32_t"
        | "uid_t"
        | "gid_t"
        | "cpu_bind_type_t"
        | "mem_bind_type_t"
        | "gres_state_type_enum_t" => ("u32", &[4]),
        "int" | "pid_t" => ("i32", &[4]),
        "uint64_t" | "sluid_t" | "size_t" => ("u64", &[8]),
        "char *" => ("*mut c_char", &[8]),
        "char **" => ("*mut *mut c_char", &[8]),
        "uint16_t *" => ("*mut u16", &[8]),
        "uint32_t *" => ("*mut u32", &[8]),
        "uint64_t *" => ("*mut u64", &[8]),
        "uint32_t **" => ("*mut *mut u32", &[8]),
        "uint64_t **" => ("*mut *mut u64", &[8]),
        "bitstr_t *" => ("*mut i64", &[8]),
        "bitstr_t **" => ("*mut *mut i64", &[8]),
        "stepd_step_task_info_t **" => ("*mut *mut c_void", &[8]),
        "slurm_step_id_t" => ("Nested", &[12, 24]),
        // glibc's on x86-64 and on aarch64.
        "pthread_mutex_t" => ("Nested", &[40, 48]),
        "List" => ("*mut c_void", &[8]),
        _ if c.ends_with(" *") => ("*mut c_void", &[8]),
        _ => panic!("layouts.json: no Rust type is known for `{c}`; add it to build/fields.rs"),
    }
}

/// Offset, size and Rust type of one field, its size checked.
pub fn placed(name: &str, field: &Value) -> (u64, u64, &'static str) {
    let offset = field["offset"]
        .as_u64()
        .unwrap_or_else(|| panic!("{name}: no offset"));
    let size = field["size"]
        .as_u64()
        .unwrap_or_else(|| panic!("{name}: no size"));
    let (rust, sizes) = rust_type(field["type"].as_str().unwrap_or_default());
    assert!(
        sizes.contains(&size),
        "{name}: {size} bytes do not fit a {rust}"
    );
    (offset, size, rust)
}

/// Every field of the record `c` with one type over all variants.
pub fn record(c: &str, variants: &[Value]) -> Record {
    let mut fields: BTreeMap<String, FieldKind> = BTreeMap::new();
    let present: Vec<_> = variants
        .iter()
        .filter_map(|v| v["structs"][c].as_object())
        .collect();
    for (name, field) in present
        .iter()
        .flat_map(|r| r.iter())
        .filter(|(_, f)| !f.is_null())
    {
        let (_, _, rust) = placed(name, field);
        let optional = present
            .iter()
            .any(|r| r.get(name).is_none_or(Value::is_null));
        let kind = fields
            .entry(name.clone())
            .or_insert(FieldKind { rust, optional });
        assert!(
            kind.rust == rust,
            "{c}.{name} is {} and {rust}: give it two names",
            kind.rust
        );
    }
    Record {
        fields,
        optional: present.len() != variants.len(),
    }
}
