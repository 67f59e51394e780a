//! Facts: machine, request, masks. Tables of exact answers, each from the paper,
//! from the Grid Engine specification, or seen from Debian's task/affinity 22.05.8.

use berth_placement::*;
use berth_srun::Release;
use berth_srun::spelling::{cpu_bind, distribution};

/// The door, where nobody claims anything.
fn plan(ask: &Request, node: &Node) -> Result<Plan, Refusal> {
    berth_placement::plan(ask, node, &Claims::default())
}

/// A regular machine from `"2x4x2"`, optionally with a numbering behind a blank.
fn host(text: &str) -> Node {
    let (size, numbering) = text.split_once(' ').unwrap_or((text, "block"));
    let n: Vec<u32> = size.split('x').map(|part| part.parse().unwrap()).collect();
    let machine = Machine::regular(n[0], n[1], n[2], numbering.parse().unwrap()).unwrap();
    Node::of(machine, SocketKind::Package, Rules::default())
}

/// A request from words such as `n=4 c=2 bind=cores dist=block:cyclic`.
fn ask(text: &str) -> Request {
    let mut ask = Request::default();
    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse().unwrap();
        match key {
            "n" => ask.tasks = number(),
            "c" => ask.cpus_per_task = number(),
            "bind" => ask.cpu_bind = cpu_bind(value, Release::V22_05).unwrap(),
            "dist" => ask.distribution = distribution(value).unwrap(),
            "tpc" => ask.threads_per_core = Some(number()),
            "ntpc" => ask.ntasks_per_core = Some(number()),
            "ntps" => ask.ntasks_per_socket = Some(number()),
            "O" => ask.overcommit = true,
            // They are the node's.
            "affinity" | "fixes" => {}
            "binding" => ask.binding = Some(value.parse().unwrap()),
            "cores" => {
                let list = CpuSet::from_list(value).unwrap();
                let cores = list.iter().map(|id| CoreIdx(id.0)).collect();
                ask.allocation = Allocation::Cores {
                    cores,
                    configured: u32::MAX,
                };
            }
            other => panic!("unknown word {other}"),
        }
    }
    ask
}

/// The fixes that `affinity` or `fixes=` leave.
fn rules(text: &str) -> Rules {
    let word = |word: &str| match word.split_once('=') {
        None if word == "affinity" => Some(Fixes::NONE),
        Some(("fixes", value)) => Some(Fixes::ALL.apply(value).unwrap()),
        _ => None,
    };
    Rules {
        fixes: text.split_whitespace().find_map(word).unwrap_or(Fixes::ALL),
        ..Rules::default()
    }
}

/// The masks of a request, or the refusal's text.
fn gives(machine: &str, request: &str) -> String {
    let node = host(machine).with_rules(rules(request));
    match plan(&ask(request), &node) {
        Ok(plan) => plan.text().unwrap_or("none".into()),
        Err(why) => format!("refused: {why}"),
    }
}

#[track_caller]
fn same(machine: &str, request: &str, masks: &str) {
    assert_eq!(gives(machine, request), masks, "{machine}: {request}");
}

/// Contract: a limit that cannot hold is exceeded evenly, also where tasks have to share cores.
#[test]
fn limits_are_exceeded_evenly_on_shared_cores() {
    let six = "n=6 bind=cores ntps=2 dist=block";
    same(
        "2x2x2",
        &format!("{six}:block"),
        "0x03,0x0C,0x30,0xC0,0x03,0x30",
    );
    same(
        "2x2x2",
        &format!("{six}:cyclic"),
        "0x03,0x30,0x0C,0xC0,0x03,0x30",
    );
    // task/affinity starts over.
    same(
        "2x2x2",
        &format!("{six}:block affinity"),
        "0x03,0x0C,0x30,0xC0,0x03,0x0C",
    );
}

#[test]
fn the_papers_layout_on_block_and_cyclic_numbering() {
    let request = "n=8 bind=cores dist=block:cyclic";
    same("4x2x1", request, "0x01,0x04,0x10,0x40,0x02,0x08,0x20,0x80");
    // By sockets and cores the same; the CPU numbers are the paper's 0 to 7.
    same(
        "4x2x1 cyclic",
        request,
        "0x01,0x02,0x04,0x08,0x10,0x20,0x40,0x80",
    );
    // -B 4:2 is cores by its two numbers; the default order is cyclic.
    same(
        "4x2x1",
        "n=8 bind=cores dist=block",
        "0x01,0x04,0x10,0x40,0x02,0x08,0x20,0x80",
    );
}

#[test]
fn block_and_plane_fill_sockets() {
    let blocks = "0x01,0x02,0x04,0x08,0x10,0x20,0x40,0x80";
    same("4x2x1", "n=8 bind=cores dist=block:block", blocks);
    same("4x2x1", "n=8 bind=cores dist=plane=2", blocks);
    same(
        "4x2x1 cyclic",
        "n=8 bind=cores dist=block:block",
        "0x01,0x10,0x02,0x20,0x04,0x40,0x08,0x80",
    );
}

#[test]
fn levels_widen_to_what_the_step_owns() {
    same("2x2x2", "n=2 bind=threads dist=block:block", "0x01,0x02");
    same("2x2x2", "n=2 bind=cores dist=block:block", "0x03,0x0C");
    same("2x2x2", "n=2 bind=sockets dist=block:cyclic", "0x0F,0xF0");
    same(
        "2x2x2",
        "n=2 bind=sockets cores=0,2 dist=block:cyclic",
        "0x03,0x30",
    );
    same("2x2x2", "n=2 bind=ldoms dist=block:cyclic", "0x0F,0xF0");
    same(
        "2x2x2 threads-last",
        "n=4 bind=cores",
        "0x11,0x44,0x22,0x88",
    );
}

#[test]
fn auto_binding_takes_what_fills_exactly() {
    same("2x4x2", "n=2", "0x00FF,0xFF00");
    same(
        "2x4x2",
        "n=8 dist=block:block",
        "0x0003,0x000C,0x0030,0x00C0,0x0300,0x0C00,0x3000,0xC000",
    );
    same(
        "2x2x2",
        "n=8 dist=block:block",
        "0x01,0x02,0x04,0x08,0x10,0x20,0x40,0x80",
    );
    // Three tasks fill nothing: all share all.
    same("2x4x2", "n=3", "0xFFFF");
    same("2x4x2", "n=3 cores=0-3", "0x00FF");
}

#[test]
fn seen_from_task_affinity() {
    for (machine, request, masks) in [
        // Four hardware threads a core: two tasks share one.
        (
            "1x4x4",
            "n=2 c=5 bind=cores dist=block:block",
            "0x00FF,0x0FF0",
        ),
        // Full cyclic doubles up while cores idle.
        (
            "2x4x2",
            "n=4 c=2 bind=cores dist=block:fcyclic",
            "0x0303,0x0303,0x0C0C,0x0C0C",
        ),
        // Cores on two sockets, one CPU: one socket.
        ("2x4x2", "n=1 bind=sockets cores=0,4", "0x0003"),
    ] {
        same(machine, &format!("{request} affinity"), masks);
    }
    // Memory domains beyond the allocation; ours stay inside.
    same("1x8x1", "n=1 bind=ldoms cores=0-1 affinity", "0xFF");
    same("1x8x1", "n=1 bind=ldoms cores=0-1", "0x03");
}

#[test]
fn limits() {
    same(
        "2x2x2",
        "n=2 c=2 tpc=1 bind=threads dist=block:block",
        "0x05,0x50",
    );
    same(
        "2x2x2",
        "n=4 bind=one_thread,threads dist=block:block",
        "0x01,0x04,0x10,0x40",
    );
    same(
        "2x2x2",
        "n=2 ntpc=1 bind=threads dist=block:block",
        "0x01,0x04",
    );
    same(
        "2x4x1",
        "n=4 ntps=2 bind=sockets dist=block:block",
        "0x0F,0x0F,0xF0,0xF0",
    );
}

#[test]
fn lists_are_honoured_or_refused() {
    same("2x2x2", "n=3 bind=map_cpu:5,0", "5,0");
    same("2x2x2", "n=2 bind=mask_cpu:0x0f,F0", "f,f0");
    same("2x2x2", "n=2 bind=none", "none");
    same("2x2x2", "n=2 bind=none cores=1", "0x0C");
    same("2x2x2", "n=4 bind=rank_ldom", "0x0F,0xF0,0x0F,0xF0");
    same("2x2x2", "n=2 bind=map_ldom:1", "0xF0,0xF0");
    same(
        "1x2x1",
        "n=2 bind=map_cpu:0,7",
        "refused: --cpu-bind=map_cpu:0,7 names CPU 7; this step owns CPUs 0-1 on this node; name \
         only those, or let --cpu-bind=cores choose",
    );
    assert!(gives("2x2x2", "n=1 bind=mask_cpu:0x30 cores=0").starts_with("refused"));
    assert!(gives("2x2x2", "n=1 bind=mask_cpu:0x0").starts_with("refused"));
    assert!(gives("2x2x2", "n=1 bind=map_ldom:7").starts_with("refused"));
    assert!(gives("2x2x2", "n=1 bind=rank_ldom cores=0").contains("--exclusive"));
}

#[test]
fn too_much_is_refused_unless_overcommitted() {
    assert!(gives("1x2x1", "n=3 bind=cores").starts_with("refused: 3 tasks"));
    same("1x2x1", "n=3 bind=cores O", "0x3");
    let shrunk = plan(&ask("n=3 c=2 bind=cores dist=block:block"), &host("1x4x1")).unwrap();
    assert_eq!(shrunk.decision.cpus_per_task, 1);
    assert!(
        shrunk.notes[0]
            .to_string()
            .contains("3 tasks request 2 CPUs each, but this step owns 4 on this node")
    );
}

#[test]
fn linear_binding_prefers_empty_sockets_and_packs_siblings() {
    same("2x4x1", "n=2 binding=linear:1", "0x01,0x02");
    same("2x4x1", "n=2 binding=linear:3", "0x07,0x70");
    same("2x4x1", "n=2 binding=linear:4", "0x0F,0xF0");
    same("2x4x1", "n=1 binding=linear:6", "0x3F");
    // Socket 0 is not whole, socket 1 is: one core goes to the empty socket.
    same("2x4x1", "n=1 binding=linear:1 cores=0,4-7", "0x10");
    // No empty socket: the one with most free cores.
    same("2x4x1", "n=1 binding=linear:2 cores=0,5-7", "0x60");
    same("2x4x1", "n=2 binding=host:linear:2", "0x03,0x03");
    same("2x2x2", "n=2 binding=linear:1", "0x03,0x0C");
    same("2x2x2", "n=2 binding=linear:1 tpc=1", "0x01,0x04");
}

#[test]
fn a_binding_that_cannot_be_had_is_said_or_refused() {
    let unbound = plan(&ask("n=4 binding=linear:4"), &host("1x4x1")).unwrap();
    assert_eq!(unbound.text().unwrap(), "0xF");
    let note = unbound.notes[0].to_string();
    assert!(
        note.contains("4 tasks × 4 cores") && note.contains("--binding=host:linear:4"),
        "{note}"
    );
    assert!(gives("1x4x1", "n=4 binding=strict:linear:4").starts_with("refused"));
    assert!(gives("1x4x1", "n=1 binding=linear:1 bind=map_cpu:0").contains("drop one"));
    // mpirun starts its daemons so; they keep the allocation.
    same("1x4x1", "n=1 binding=linear:1 bind=none", "none");
    same("1x4x1", "n=1 binding=linear:1 bind=none cores=0-1", "0x3");
    // Levels, which srun derives from other options, give way.
    same("1x4x1", "n=2 binding=linear:2 bind=cores", "0x3,0xC");
}

#[test]
fn batch_scripts_keep_their_allocation() {
    let batch = plan_batch(
        &ask("n=4 c=2 bind=map_cpu:99 cores=1"),
        &host("2x2x2"),
        &Claims::default(),
    )
    .unwrap();
    assert_eq!(batch.text().unwrap(), "0x0C");
    assert_eq!(batch.tasks.len(), 1);
}

#[test]
fn more_than_1024_cpus() {
    let masks = gives("8x128x2", "n=2048 bind=threads dist=block:block");
    assert_eq!(masks.split(',').count(), 2048);
    let last = masks.rsplit(',').next().unwrap();
    assert_eq!(CpuSet::from_hex(last).unwrap().to_string(), "2047");
}
