//! The tests of the command, which they run as its users do, in one program.

mod changes;
mod check_agrees;
mod check_files;
mod check_manuals;
mod commands;
mod completions;
mod doctor_roles;
mod faces;
mod facts;
mod failures;
mod fixes;
mod golden;
mod golden_masks;
mod hwloc_texts;
mod links;
mod log_common;
mod long_values;
mod man;
mod manners;
mod monitoring;
mod near;
mod node;
#[path = "../../../../tests/src/page_lines.rs"]
mod page_lines;
mod pages;
mod pool;
mod random;
mod read_once;
mod report_meeting;
mod run;
mod topo;
mod tune;
mod tune_stage;
#[path = "../../../web/tests/lines/mod.rs"]
mod web_lines;
mod web_page;
