//! Every example of Grid Engine's job-to-core binding specification (sections 1.1, 3.1, 3.2,
//! 3.6 and the algorithms of 4) and the fine print of ours, as `socket,core` pairs on machines
//! written as their topology strings.

use berth_placement::answer::cores::places;
use berth_placement::*;

/// The door, where nobody claims anything.
fn plan(request: &Request, node: &Node) -> Result<Plan, Refusal> {
    berth_placement::plan(request, node, &Claims::default())
}

/// A machine from its topology string, CPUs numbered in its order.
fn machine(string: &str) -> Machine {
    let mut packages: Vec<Package> = Vec::new();
    for letter in string.chars() {
        match letter {
            'S' => packages.push(Package::default()),
            'C' => packages.last_mut().unwrap().cores.push(Core::default()),
            _ => {
                let cores = &mut packages.last_mut().unwrap().cores;
                cores.last_mut().unwrap().pus.push(CpuId(0));
            }
        }
    }
    let mut next = 0;
    for core in packages.iter_mut().flat_map(|package| &mut package.cores) {
        let threads = core.pus.len().max(1) as u32;
        core.pus = (next..next + threads).map(CpuId).collect();
        next += threads;
    }
    let allowed = CpuSet::first(next);
    Machine::new(Parts {
        packages,
        allowed,
        ..Parts::default()
    })
    .unwrap()
}

/// What `n` tasks get: `socket,core` pairs by task, parted by blanks; `unbound` or the refusal.
/// `taken` are CPUs of other steps.
fn gives(string: &str, n: u32, binding: &str, taken: &str) -> String {
    let request = Request {
        tasks: n,
        binding: Some(binding.parse().unwrap()),
        ..Request::default()
    };
    let claims = Claims {
        taken: CpuSet::from_list(taken).unwrap_or_default(),
        shared: CpuSet::new(),
        ..Claims::default()
    };
    let host = Node::of(machine(string), SocketKind::Package, Rules::default());
    let plan = match berth_placement::plan(&request, &host, &claims) {
        Ok(plan) => plan,
        Err(why) => return format!("refused: {why}"),
    };
    let Some(chosen) = plan.chosen else {
        assert_eq!(plan.decision.rule, Rule::BindingFailed);
        return format!("unbound: {}", plan.notes[0]);
    };
    for (id, task) in plan.tasks.iter().enumerate() {
        assert_eq!(task.cpus, chosen.cpus_of_task(id), "{string} {binding}");
    }
    let tasks: Vec<_> = chosen.lists().map(places).collect();
    tasks.join(" ")
}

#[track_caller]
fn same(string: &str, n: u32, binding: &str, taken: &str, cores: &str) {
    let found = gives(string, n, binding, taken);
    assert_eq!(found, cores, "{string} n={n} {binding} taken={taken}");
}

#[track_caller]
fn unbound(string: &str, n: u32, binding: &str, taken: &str, says: &str) {
    let found = gives(string, n, binding, taken);
    assert!(
        found.starts_with("unbound: ") && found.contains(says),
        "{string} n={n} {binding} taken={taken}: {found}"
    );
}

const REGEN: &str = "SCCSCC";
const EIGHT: &str = "SCCCSCCC";
const FOUR: &str = "SCCSCCSCCSCC";
const SMT: &str = "SCTTCTTSCTTCTT";

#[test]
fn topology_strings_of_section_3_1() {
    let t2 = format!("S{}", "CTTTTTTTT".repeat(8));
    for string in ["SCCSCC", "SCCCC", "SCTTCTT", FOUR, EIGHT, &t2, "SCCSC"] {
        let machine = machine(string);
        assert_eq!(machine.topology_string(SocketKind::Package), string);
    }
}

#[test]
fn cores_in_use_have_small_letters() {
    for (string, used, in_use) in [
        // Section 3.3: a job of two processes on the first socket.
        (REGEN, "0-1", "sccSCC"),
        // Section 3.5: core 1 of socket 1, both cores of socket 3.
        (FOUR, "3,6-7", "SCCSCcSCCscc"),
        // Section 3.5, qstat -cb: the job's own cores.
        ("SCCCCSCCCC", "2,6", "SCCcCSCCcC"),
        // One hardware thread stands for its core.
        (SMT, "1", "ScttCTTSCTTCTT"),
        (SMT, "0,2", "scttcttSCTTCTT"),
    ] {
        let used = CpuSet::from_list(used).unwrap();
        let found = machine(string).topology_in_use(SocketKind::Package, &used);
        assert_eq!(found, in_use);
    }
}

#[test]
fn linear_without_a_start() {
    // Section 3.6, example 4: submitted twice, the jobs get a socket each.
    same(REGEN, 1, "linear:2", "", "0,0:0,1");
    same(REGEN, 1, "linear:2", "0-1", "1,0:1,1");
    // Example 9: an array of four on a quadcore.
    same("SCCCC", 1, "linear:1", "", "0,0");
    same("SCCCC", 1, "linear:1", "0", "0,1");
    same("SCCCC", 1, "linear:1", "0-2", "0,3");
    unbound("SCCCC", 1, "linear:1", "0-3", "0 whole free cores");
    // Section 3.2: an empty socket first, though the other has room.
    same(EIGHT, 1, "linear:2", "0", "1,0:1,1");
    // Then a partly occupied one that offers the amount.
    same(EIGHT, 1, "linear:2", "0,3", "0,1:0,2");
    same(EIGHT, 1, "linear:2", "0-1,3", "1,1:1,2");
    // Then consecutive cores on consecutive sockets (4.3: the one with most free cores first).
    same(EIGHT, 1, "linear:4", "", "0,0:0,1:0,2:1,0");
    same(EIGHT, 1, "linear:3", "0,3-4", "0,1:0,2:1,2");
    same(EIGHT, 1, "linear:4", "0", "1,0:1,1:1,2:0,1");
    same(FOUR, 1, "linear:3", "0-1", "1,0:1,1:2,0");
    same(FOUR, 1, "linear:8", "", "0,0:0,1:1,0:1,1:2,0:2,1:3,0:3,1");
    unbound(FOUR, 1, "linear:9", "", "--binding=linear:8 would fit");
    unbound(EIGHT, 1, "linear:3", "0-1,3-4", "2 whole free cores");
    // Uneven sockets and whole cores of hardware threads.
    same("SCSCCC", 1, "linear:2", "", "1,0:1,1");
    same(SMT, 1, "linear:2", "0", "1,0:1,1");
    same(SMT, 2, "linear:1", "", "0,0 0,1");
}

#[test]
fn linear_with_a_start() {
    // Section 3.6, example 4.
    same(REGEN, 1, "linear:2:0,0", "", "0,0:0,1");
    same(REGEN, 1, "linear:2:1,0", "", "1,0:1,1");
    // It runs on into the next socket.
    same(REGEN, 1, "linear:2:0,1", "", "0,1:1,0");
    same(FOUR, 1, "linear:5:0,1", "", "0,1:1,0:1,1:2,0:2,1");
    same("SCSCCC", 1, "linear:2:0,0", "", "0,0:1,0");
    // Each task where the one before ended.
    same(EIGHT, 2, "linear:2:0,1", "", "0,1:0,2 1,0:1,1");
    same(EIGHT, 2, "host:linear:2:0,1", "", "0,1:0,2");
    // Section 3.2: the amount too high, the core not there, or a collision: no binding.
    unbound(REGEN, 1, "linear:4:0,1", "", "past the last core");
    unbound(
        REGEN,
        1,
        "linear:1:0,2",
        "",
        "this node has no core 0,2, only sockets 0-1 with cores 0-1 each",
    );
    unbound(REGEN, 1, "linear:1:2,0", "", "no core 2,0");
    unbound(
        REGEN,
        1,
        "linear:2:0,0",
        "1",
        "another step is bound to core 0,1",
    );
    unbound(
        REGEN,
        1,
        "linear:2:0,0",
        "1",
        "--binding=linear:2 would fit",
    );
    unbound(EIGHT, 2, "linear:3:0,1", "", "past the last core");
}

#[test]
fn striding_with_a_start() {
    // Section 3.2 of the specification shows this line; it binds to the first core of each socket.
    same(REGEN, 1, "striding:2:2:0,0", "", "0,0:1,0");
    same(EIGHT, 1, "striding:2:3:0,0", "", "0,0:1,0");
    same(EIGHT, 1, "striding:3:2:0,1", "", "0,1:1,0:1,2");
    same(SMT, 1, "striding:2:2:0,1", "", "0,1:1,1");
    same(FOUR, 1, "striding:4:2:0,0", "", "0,0:1,0:2,0:3,0");
    // Later tasks at the next start that fits, going up.
    same(
        FOUR,
        2,
        "striding:4:2:0,0",
        "",
        "0,0:1,0:2,0:3,0 0,1:1,1:2,1:3,1",
    );
    same(EIGHT, 2, "striding:2:1:0,1", "", "0,1:0,2 1,0:1,1");
    // Section 4.2: if the start is occupied, the job runs without binding.
    unbound(
        REGEN,
        1,
        "striding:2:2:0,0",
        "0",
        "another step is bound to core 0,0",
    );
    unbound(
        REGEN,
        1,
        "striding:2:2:0,0",
        "2",
        "another step is bound to core 1,0",
    );
    unbound(REGEN, 1, "striding:3:2:0,0", "", "past the last core");
    unbound(REGEN, 1, "striding:2:2:0,5", "", "no core 0,5");
}

#[test]
fn striding_without_a_start() {
    // Section 3.6, example 5: 0 and 2 of the cores 0 to 3.
    same(REGEN, 1, "striding:2:2", "", "0,0:1,0");
    // Section 4.2: 0,0 first, then the next core, for all cores on all sockets.
    same(REGEN, 1, "striding:2:2", "0", "0,1:1,1");
    same(REGEN, 1, "striding:2:2", "2", "0,1:1,1");
    same(EIGHT, 1, "striding:2:3", "0,4", "0,2:1,2");
    same(EIGHT, 1, "striding:2:1", "1,3", "1,1:1,2");
    same(FOUR, 2, "striding:2:4", "", "0,0:2,0 0,1:2,1");
    same("SCSCCC", 1, "striding:2:2", "", "0,0:1,1");
    unbound(REGEN, 1, "striding:2:2", "0-1", "do not lie as requested");
    unbound(
        REGEN,
        1,
        "striding:2:2",
        "0-1",
        "--binding=linear:2 would fit",
    );
    unbound(REGEN, 1, "striding:2:4", "", "do not lie as requested");
    unbound(REGEN, 1, "striding:5:1", "", "4 whole free cores");
    // Greedy in task order: no backtracking.
    unbound(
        "SCCCC",
        2,
        "striding:2:3",
        "",
        "host:striding:2:3 would fit",
    );
}

#[test]
fn explicit_cores() {
    same(REGEN, 1, "explicit:1,1", "", "1,1");
    same(REGEN, 1, "explicit:0,1:1,0", "", "0,1:1,0");
    same(REGEN, 1, "explicit:0,1;1,0", "", "0,1:1,0");
    same(SMT, 1, "explicit:1,1:0,0", "", "1,1:0,0");
    // Absolute cores: all tasks of the step share them.
    same(FOUR, 3, "explicit:3,0:0,0", "", "3,0:0,0");
    // Section 4.1: all or nothing, also on a collision.
    unbound(
        REGEN,
        1,
        "explicit:0,0:1,0",
        "2",
        "another step is bound to core 1,0",
    );
    unbound(
        REGEN,
        1,
        "explicit:0,0:1,0",
        "2",
        "--binding=linear:2 would fit",
    );
    unbound(REGEN, 1, "explicit:9,9", "", "no core 9,9, only");
    let refused = gives(REGEN, 1, "strict:explicit:9,9", "");
    assert!(
        refused.starts_with("refused: --binding=strict:explicit:9,9"),
        "{refused}"
    );
}

#[test]
fn siblings_pack_and_share_nothing() {
    same("SCCCCSCCCC", 2, "linear:1", "", "0,0 0,1");
    same("SCCCCSCCCC", 2, "linear:3", "", "0,0:0,1:0,2 1,0:1,1:1,2");
    same("SCCCCSCCCC", 3, "linear:3", "", &unbound_text(3, 3));
    same(FOUR, 4, "host:linear:2", "", "0,0:0,1");
}

fn unbound_text(tasks: u32, amount: u32) -> String {
    format!(
        "unbound: --binding=linear:{amount} asks for {tasks} tasks × {amount} cores; this step \
         has 8 whole free cores on this node; --binding=host:linear:{amount} would fit; no task \
         is bound, and every task may use all CPUs of the step"
    )
}

#[test]
fn shared_cores_decide_between_equal_choices_only() {
    let gives = |binding: &str, shared: &str| {
        let request = Request {
            binding: Some(binding.parse().unwrap()),
            ..Request::default()
        };
        let claims = Claims {
            taken: CpuSet::new(),
            shared: CpuSet::from_list(shared).unwrap(),
            ..Claims::default()
        };
        let host = Node::of(machine("SCCCCSCCCC"), SocketKind::Package, Rules::default());
        places(
            berth_placement::plan(&request, &host, &claims)
                .unwrap()
                .chosen
                .unwrap()
                .of_task(0),
        )
    };
    // The whole allocation, although the job's own script is bound to it.
    assert_eq!(gives("linear:8", "0-7").matches(',').count(), 8);
    // Of two empty sockets the one nobody shares, in it the cores nobody shares.
    assert_eq!(gives("linear:2", "0-1"), "1,0:1,1");
    assert_eq!(gives("linear:2", "0-1,4-5"), "0,2:0,3");
    // A start is no choice.
    assert_eq!(gives("linear:2:0,0", "0-1"), "0,0:0,1");
    assert_eq!(gives("striding:2:2", "0"), "0,0:0,2");
}

/// A step avoids the cores on which pool jobs run, even if it must leave an empty socket for that. A step of a pool job then
/// avoids the cores of bindings; other steps never get those.
#[test]
fn cores_of_pools_are_spared_then_those_of_bindings() {
    let gives = |binding: &str, pools: &str, bindings: &str| {
        let request = Request {
            binding: Some(binding.parse().unwrap()),
            ..Request::default()
        };
        let claims = Claims {
            pools: CpuSet::from_list(pools).unwrap(),
            bindings: CpuSet::from_list(bindings).unwrap(),
            ..Claims::default()
        };
        let host = Node::of(machine("SCCCCSCCCC"), SocketKind::Package, Rules::default());
        let plan = berth_placement::plan(&request, &host, &claims).unwrap();
        plan.chosen
            .map_or_else(|| "none".into(), |chosen| places(chosen.of_task(0)))
    };
    assert_eq!(gives("linear:2", "0-3", ""), "1,0:1,1");
    assert_eq!(gives("linear:2", "0-2,4-5", ""), "1,2:1,3");
    assert_eq!(gives("linear:2", "0-3", "4-5"), "1,2:1,3");
    // Of two on which others are, those without a pool.
    assert_eq!(gives("linear:2", "4-7", "0-3"), "0,0:0,1");
    assert_eq!(gives("linear:3", "0-2,4-7", "3"), "0,0:0,1:0,3");
    // As few as it needs, and no refusal because of them.
    assert_eq!(gives("linear:4", "0-2,4-6", ""), "0,0:0,1:0,3:1,3");
    assert_eq!(gives("linear:8", "0-7", "0-7").matches(',').count(), 8);
    assert_eq!(gives("linear:9", "0-7", "0-7"), "none");
    assert_eq!(gives("striding:2:2", "0", ""), "0,1:0,3");
    assert_eq!(gives("striding:2:4", "0-3", ""), "0,0:1,0");
    assert_eq!(gives("striding:2:1", "0-1,3-7", ""), "0,1:0,2");
    // Where it must take one, the one beside those that are nobody's.
    assert_eq!(gives("linear:4", "0-3,7", ""), "1,0:1,1:1,2:1,3");
    // A start is no choice.
    assert_eq!(gives("linear:2:0,0", "0-1", "0"), "0,0:0,1");
    assert_eq!(gives("explicit:0,1", "0-1", "0"), "0,1");
}

#[test]
fn env_and_pe_bind_nothing_and_name_the_cores() {
    for instance in ["env:", "pe:", "env ", "pe,"] {
        let request = Request {
            tasks: 2,
            binding: Some(format!("{instance}linear:2").parse().unwrap()),
            ..Request::default()
        };
        let plan = plan(
            &request,
            &Node::of(machine(REGEN), SocketKind::Package, Rules::default()),
        )
        .unwrap();
        assert_eq!(plan.text().unwrap(), "0xF");
        let chosen = plan.chosen.unwrap();
        assert_eq!(chosen.to_string(), "0,0=0:0,1=1;1,0=2:1,1=3");
        assert_eq!(chosen.to_string().parse::<Chosen>().unwrap(), chosen);
    }
    for wrong in ["0,0", "0=1", "x,0=1", "0,0=x", ";", "0,0=1;"] {
        assert!(wrong.parse::<Chosen>().is_err(), "{wrong}");
    }
}

#[test]
fn a_text_that_is_too_long_says_what_to_do() {
    let text = format!("explicit:{}", "0,1:".repeat(3000));
    let why = text.parse::<Binding>().unwrap_err().to_string();
    let says = "longer than 8192 bytes; name fewer cores, or an amount, as in linear:4";
    assert!(why.contains(says) && why.len() < 600, "{why}");
}
