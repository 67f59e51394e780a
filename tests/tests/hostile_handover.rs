//! Launch messages that pretend to come from slurmd's own planning: kinds of binding that nobody
//! knows, masks outside the step, and the variables in which a plan travels.

use berth_tests::hostile::{self, Attacker, Changes, Victim};
use berth_tests::two_cpus;

/// Prints the CPUs that the kernel lets the task use.
const CPUS: [&str; 3] = [
    "/bin/sh",
    "-c",
    "while read -r key cpus; do case $key in Cpus_allowed_list:) echo \"cpus $cpus\";; esac; done < /proc/self/status",
];

/// What slurmd would have written for a plan that binds the task to a CPU with this mask.
fn forged(cpu: &str, mask: &str) -> Vec<Vec<u8>> {
    let variables = [
        "BERTH_BOUND=1".to_owned(),
        format!("BERTH_CPU_BIND={mask}"),
        "BERTH_REQUEST=n=1 c=1 cores".to_owned(),
        "BERTH_RULE=cores".to_owned(),
        "BERTH_NOTE=".to_owned(),
        format!("BERTH_BINDING_CORES=0,{cpu}={cpu}:{cpu}"),
        "BERTH_BINDING_ROUTED=linear:1".to_owned(),
        format!("BERTH_CPUS={cpu}"),
        format!("BERTH_CORES={cpu}"),
        "BERTH_MEM=0x1".to_owned(),
        "BERTH_MEM_BIND=0x1".to_owned(),
        format!("BERTH_HANDOVER=1 bound=1 cpus={mask}"),
    ];
    variables.map(String::into_bytes).to_vec()
}

/// The CPUs of a step that asks for nothing special, and what a forged one got: nothing where it
/// was refused.
fn cpus(attacker: &Attacker<'_>, place: &str, changes: Changes<'_>) -> Option<String> {
    let options = [place, "--overlap", "-n1", "-c1", "--cpu-bind=cores"];
    let done = attacker.srun(changes, &[&options[..], &CPUS].concat());
    let line = done
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("cpus "));
    line.map(String::from)
}

#[test]
fn no_task_gets_cpus_outside_its_step() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth(""));
    victim.attacked(|attacker| {
        let job = attacker.job(&["-n1", "-c1"]);
        let own = cpus(attacker, &job.option(), &[]).expect("an honest step runs");
        let (cpu, mask) = hostile::outside(&own);
        let mask = mask.as_str();
        let variables = forged(&cpu.to_string(), mask);
        let variables: Vec<_> = variables
            .iter()
            .map(|entry| ("env", entry.as_slice()))
            .collect();
        let mut escaped = Vec::new();
        let mut bits: Vec<u16> = (0..16).map(|bit| 1 << bit).collect();
        bits.extend([0x8100, 0x4100, 0xc184, 0x0184, 0x0900, 0xffff]);
        for bits in bits.into_iter().map(|bits| format!("{bits:#x}")) {
            let asked = [
                ("cpu_bind_type", bits.as_bytes()),
                ("cpu_bind", mask.as_bytes()),
            ];
            let with = [&asked[..], &variables].concat();
            for changes in [&asked[..], &with] {
                let got = cpus(attacker, &job.option(), changes);
                if got
                    .as_ref()
                    .is_some_and(|got| !hostile::is_inside(got, &own))
                {
                    escaped.push(format!("bits {bits}, {} changes: {got:?}", changes.len()));
                }
            }
        }
        assert!(escaped.is_empty(), "the step owns CPU {own}: {escaped:#?}");
    });
}
