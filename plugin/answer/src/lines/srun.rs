//! A whole line of a shell, `OMP_NUM_THREADS=4 srun -p long -n8 -c4 ./app > out`, taken apart. The shell's own part,
//! the program and everything behind it are left out. The line of an sbatch or salloc is that of a job.

use berth_srun::line::{Line, LineOption, read};
use berth_srun::submission::own_values;
use berth_srun::{Program, Release};

use super::{NoAnswer, System, mpirun};
use crate::lines::job::{base, is_foreign, shown, trouble};
use crate::shell::{Word, assignment, scan};

/// A whole line of a shell, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WholeLine {
    /// The options of its step.
    pub options: Vec<LineOption>,
    /// The assignments before its command: `NAME=VALUE`.
    pub variables: Vec<String>,
    /// srun's options that place the tasks of its mpirun.
    pub for_mpirun: Option<String>,
    /// The line of its job.
    pub job: Option<String>,
    /// Whether it starts no step.
    pub only_job: bool,
}

/// Takes a line apart.
///
/// # Errors
/// [`NoAnswer`], with the option named as srun names it.
pub(crate) fn whole_line(text: &str, release: Release) -> Result<WholeLine, NoAnswer> {
    let found = scan(text.as_bytes());
    if let Some(unclosed) = found.unclosed {
        let why = format!("{} is not closed on this line; close it", unclosed.what);
        return Err(NoAnswer::Usage(why));
    }
    let is_slurms = |word: &Word| Program::named(&word.text).is_some();
    let is_first = |word: &Word| is_slurms(word) || mpirun::is_one(&word.text);
    let mut commands = found.commands.iter();
    let start = commands.find_map(|one| Some((one, one.words.iter().position(is_first)?)));
    let (command, at) = start.ok_or_else(|| no_program(text))?;
    if commands.any(|one| one.words.iter().any(is_slurms)) {
        let several = "the line starts several steps; give the line of one";
        return Err(NoAnswer::Usage(several.into()));
    }
    let (before, words) = command.words.split_at(at);
    let words: Vec<_> = words.iter().map(|word| word.text.clone()).collect();
    let found = match Program::named(&words[0]) {
        None => of_mpirun(&words[1..], release)?,
        Some(Program::Srun) => WholeLine {
            options: of_step(&words[1..], release)?,
            ..WholeLine::default()
        },
        Some(program) => of_job(&words, program, release)?,
    };
    Ok(WholeLine {
        variables: variables(before),
        ..found
    })
}

/// The line has no program that starts tasks.
fn no_program(text: &str) -> NoAnswer {
    let first = text.split_whitespace().next().map_or("", base);
    if let Some(system) = System::of_program(first) {
        let why = format!("a line of {system}; {}", system.page());
        return NoAnswer::NotModelled(why);
    }
    let file = match text.trim().contains(char::is_whitespace) {
        true => "",
        false => ", and there is no such script",
    };
    NoAnswer::Usage(format!(
        "\"{text}\" has no srun{file}; give a line such as 'srun -n8 -c4 ./app'"
    ))
}

/// The line of an sbatch or salloc, and the options of the srun that salloc starts.
fn of_job(words: &[String], program: Program, release: Release) -> Result<WholeLine, NoAnswer> {
    let own = &words[1..];
    let line = read(own, program, Some(release));
    for given in &line.options {
        faultless(given, program, release)?;
    }
    not_planned(&line, program)?;
    let job = |count: usize| {
        let words = words.iter().take(count).map(String::as_str);
        Some(shlex::try_join(words).unwrap_or_default())
    };
    let starts = line.program.first().map(|word| base(word));
    if program == Program::Salloc && starts == Some("srun") {
        let step = own.get(line.own_words + 1..).unwrap_or_default();
        return Ok(WholeLine {
            job: job(line.own_words + 1),
            options: of_step(step, release)?,
            ..WholeLine::default()
        });
    }
    Ok(WholeLine {
        job: job(words.len()),
        only_job: true,
        ..WholeLine::default()
    })
}

/// The options of the srun that places the tasks of an mpirun.
fn of_mpirun(own: &[String], release: Release) -> Result<WholeLine, NoAnswer> {
    let options = mpirun::as_srun(own)?;
    Ok(WholeLine {
        options: of_step(&options, release)?,
        for_mpirun: Some(options.join(" ")),
        ..WholeLine::default()
    })
}

/// The options of a step, from the words behind srun.
fn of_step(own: &[String], release: Release) -> Result<Vec<LineOption>, NoAnswer> {
    let line = read(own, Program::Srun, Some(release));
    if line.more {
        return Err(NoAnswer::NotModelled(
            "a step of several components (:)".into(),
        ));
    }
    for given in &line.options {
        faultless(given, Program::Srun, release)?;
    }
    if let Some(why) = own_values::two_values(&line.options) {
        return Err(NoAnswer::Usage(format!("srun: {why}")));
    }
    not_planned(&line, Program::Srun)?;
    Ok(line.options)
}

/// Assignments before srun are its variables, as `SLURM_HINT=nomultithread srun …`.
fn variables(before: &[Word]) -> Vec<String> {
    let words = before.iter().map(|word| &word.text);
    let assigned = words.filter(|text| assignment(text).is_some());
    assigned.cloned().collect()
}

/// Whether an option can be read here, apart from its value.
fn faultless(given: &LineOption, program: Program, release: Release) -> Result<(), NoAnswer> {
    let name = &given.name;
    // A script in --wrap has variables of its own.
    let is_computed = |value: &&String| value.contains(['$', '`']) && name != "wrap";
    if is_foreign(given, program, release) {
        return Ok(());
    }
    if let Some(why) = trouble(given, program, release) {
        return Err(NoAnswer::Usage(why));
    }
    match given.value.as_ref().filter(is_computed) {
        None => Ok(()),
        Some(value) => Err(NoAnswer::Usage(format!(
            "{} has the value {value}, which only the shell of the job knows; write the value itself",
            shown(name)
        ))),
    }
}

/// Refuses a line that shows something and starts nothing.
fn not_planned(line: &Line, program: Program) -> Result<(), NoAnswer> {
    let shows = ["help", "usage", "version", "autocomplete"];
    match line
        .options
        .iter()
        .find(|given| shows.contains(&given.name.as_str()))
    {
        Some(given) => Err(NoAnswer::Usage(format!(
            "with --{} {} prints something and starts nothing",
            given.name,
            program.name()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a line, with `job:` before that of its job.
    fn parts(text: &str) -> Result<String, NoAnswer> {
        let line = whole_line(text, Release::V22_05)?;
        let option = |given: LineOption| match given.value {
            Some(value) => format!("--{}={value}", given.name),
            None => format!("--{}", given.name),
        };
        let job = line.job.map(|job| match line.only_job {
            true => format!("only job: {job}"),
            false => format!("job: {job}"),
        });
        let parts = line.variables.into_iter().chain(job);
        let parts: Vec<_> = parts.chain(line.options.into_iter().map(option)).collect();
        Ok(parts.join(" "))
    }

    #[test]
    fn real_lines() {
        for (line, words) in [
            (
                "srun -p long -t 1:00:00 --mem=4G -n8 -c4 ./app > out",
                "--partition=long --time=1:00:00 --mem=4G --ntasks=8 --cpus-per-task=4",
            ),
            ("srun -n4 ./app -n 9 2>&1 | tee log", "--ntasks=4"),
            ("srun > out -n4 2>>err --label ./app", "--ntasks=4 --label"),
            (
                "cd /tmp && time /usr/bin/srun -K0 -n 2 a &",
                "--kill-on-bad-exit=0 --ntasks=2",
            ),
            (
                "X=1; OMP_NUM_THREADS=4 SLURM_HINT=multithread srun a",
                "OMP_NUM_THREADS=4 SLURM_HINT=multithread",
            ),
            (
                "srun --cpu_bind='map_cpu:0,1' -m=block ./a 'b c'",
                "--cpu-bind=map_cpu:0,1 --distribution==block",
            ),
            (
                "srun --container-im=$X --foo bar -n4 --ccm ./app",
                "--container-image=$X --foo=bar --ntasks=4 --ccm",
            ),
            (
                "srun --binding=linear:2 --exclusive",
                "--binding=linear:2 --exclusive",
            ),
        ] {
            assert_eq!(parts(line).as_deref(), Ok(words), "{line}");
        }
    }

    #[test]
    fn the_lines_of_jobs() {
        for (line, words) in [
            ("sbatch -n4 job.sh -c9", "only job: sbatch -n4 job.sh -c9"),
            (
                "cd x && sbatch --wrap='srun -n2 ./a $X' > id",
                "only job: sbatch '--wrap=srun -n2 ./a $X'",
            ),
            (
                "BERTH_BINDING=linear:1 salloc -n4",
                "BERTH_BINDING=linear:1 only job: salloc -n4",
            ),
            ("salloc -n4 ./srun_it", "only job: salloc -n4 ./srun_it"),
            (
                "salloc -n4 -- srun -n2 ./a -c3",
                "job: salloc -n4 -- --ntasks=2",
            ),
        ] {
            assert_eq!(parts(line).as_deref(), Ok(words), "{line}");
        }
    }

    #[test]
    fn wrong_ones_are_named_as_srun_names_them() {
        for (line, says) in [
            (
                "srun --ntask-per-nod=1 a",
                "unrecognized option '--ntask-per-nod'; the nearest is --ntasks-per-node",
            ),
            ("srun -g a", "srun: unrecognized option '-g'"),
            (
                "srun --tres-bind=x a",
                "unrecognized option '--tres-bind'; Slurm 22.05 does not have it",
            ),
            (
                "srun --node=2 a",
                "option '--node' is ambiguous; possibilities: '--nodefile' '--nodelist' '--nodes'",
            ),
            (
                "srun --reserved=0 ./a",
                "srun: unrecognized option '--reserved'; it is an option of berth plan: write it beside",
            ),
            ("srun -n2 --machine pu:2 ./a", "write it beside the line"),
            ("sbatch --reserved=0 job.sh", "write it beside the line"),
            ("salloc -n2 srun --score ./a", "write it beside the line"),
            ("srun -n", "option '--ntasks' requires an argument"),
            (
                "srun --label=1 a",
                "option '--label' doesn't allow an argument",
            ),
            ("srun -n $N a", "--ntasks has the value $N"),
            ("srun --help", "starts nothing"),
            ("srun a & srun b", "several steps"),
            ("sbatch a ; sbatch b", "several steps"),
            (
                "sbatch -n4 --label job.sh",
                "sbatch: unrecognized option '--label'",
            ),
            ("salloc --version", "starts nothing"),
            ("./app", "has no srun"),
            ("srun 'a", "a quote is not closed"),
        ] {
            match parts(line) {
                Err(NoAnswer::Usage(why)) => assert!(why.contains(says), "{line}: {why}"),
                other => panic!("{line}: {other:?}"),
            }
        }
        assert!(matches!(
            parts("srun -n1 a : -n2 b"),
            Err(NoAnswer::NotModelled(_))
        ));
    }
}
