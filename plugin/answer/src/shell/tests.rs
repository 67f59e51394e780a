//! Tests of the reader of scripts: which commands it finds, and that places are right.

use super::*;

#[path = "../../../discover/tests/common/mod.rs"]
mod random;

fn commands(text: &str) -> Vec<String> {
    let found = scan(text.as_bytes());
    let line = |command: &Simple| {
        let words: Vec<_> = command
            .words
            .iter()
            .map(|word| word.text.as_str())
            .collect();
        words.join("|")
    };
    found.commands.iter().map(line).collect()
}

#[test]
fn words_and_their_quotes() {
    for (text, expected) in [
        ("srun -n4 ./a", &["srun|-n4|./a"][..]),
        ("srun 'a b' \"c d\" e\\ f", &["srun|a b|c d|e f"]),
        (
            "srun \"a\\\" \\\\ \\$b \\`c \\d\"",
            &["srun|a\" \\ $b `c \\d"],
        ),
        ("srun \"$@\" ${x[@]} $y", &["srun|$@|${x[@]}|$y"]),
        (
            "srun -n $((N * 2)) $(cat x; echo ')') a",
            &["srun|-n|$((N * 2))|$(cat x; echo ')')|a"],
        ),
        ("srun `echo a \\` b` c", &["srun|`echo a \\` b`|c"]),
        ("srun -n4 \\\n  -c2 ./a", &["srun|-n4|-c2|./a"]),
        ("srun -n4 \\\r\n  -c2 ./a\r\n", &["srun|-n4|-c2|./a"]),
        ("A=1 B='x y' srun a # srun b", &["A=1|B=x y|srun|a"]),
        ("srun a#b", &["srun|a#b"]),
        ("srun ${x:-\"}\"} a", &["srun|${x:-\"}\"}|a"]),
        (
            "args=(-n 4 'a)')\nsrun \"${args[@]}\"",
            &["args=(-n 4 'a)')|", "srun|${args[@]}"],
        ),
        ("srun $'a\\'b' c", &["srun|a\\'b|c"]),
        ("diff <(srun a) >(b) c", &["diff|<(srun a)|>(b)|c"]),
        ("srun a{1..3}", &["srun|a{1..3}"]),
    ] {
        let found: Vec<_> = commands(text);
        let expected: Vec<_> = expected
            .iter()
            .map(|one| one.trim_end_matches('|'))
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn separators_and_redirections() {
    for (text, expected) in [
        (
            "a; b && c || d | e |& f & g",
            &["a", "b", "c", "d", "e", "f", "g"][..],
        ),
        ("a > out 2>&1 < in b", &["a|b"]),
        ("a &> out b &>> out c", &["a|b|c"]),
        ("a 2> err >> out; b 12 >x", &["a", "b|12"]),
        ("a <<EOF b\nsrun x\nEOF\nc", &["a|b", "c"]),
        ("a <<-'E F' <<B\n\tx\n\tE F\ny\nB\nc", &["a", "c"]),
        ("a <<< \"$x\" b", &["a|b"]),
        ("(a; b) > out; c", &["a", "b", "c"]),
        ("x=$(cat <<E\n)\nE\n) a", &["x=$(cat <<E\n)\nE\n)|a"]),
        ("", &[]),
        ("# srun", &[]),
    ] {
        assert_eq!(commands(text), expected, "{text}");
    }
}

#[test]
fn compound_commands() {
    for (text, expected) in [
        (
            "if a; then srun b; else srun c; fi",
            &["a", "srun|b", "srun|c"][..],
        ),
        ("for app in srun mpirun; do $app x; done", &["$app|x"]),
        ("for ((i;i<4;)) do srun a; done", &["let|i;i<4;", "srun|a"]),
        (
            "while read x; do srun a; done < file; b",
            &["read|x", "srun|a", "b"],
        ),
        (
            "case $l in\n srun) srun a ;;\n (mpirun|x) b;& *) c;; esac; d",
            &["srun|a", "b", "c", "d"],
        ),
        ("srun() { x; }\nfunction srun { y; }\nz", &["x", "y", "z"]),
        ("[[ $a == srun && -n $b ]] && srun c", &["srun|c"]),
        ("((a<3)) && b", &["let|a<3", "b"]),
        ("((a<<3))\nb", &["let|a<<3", "b"]),
        ("( (a); b )", &["a", "b"]),
        ("! time srun a", &["srun|a"]),
        ("{ a; } 2>/dev/null; b", &["a", "b"]),
        ("a; )\nb", &["a", "b"]),
    ] {
        assert_eq!(commands(text), expected, "{text}");
    }
}

#[test]
fn the_background_loops_and_groups() {
    let found =
        scan(b"a & b | c & d; for i in 1; do e & done\nwait\nf && g &\nif h; then i; fi").commands;
    let of = |is: fn(&Simple) -> bool| {
        let names = found
            .iter()
            .filter(|one| is(one))
            .map(|one| one.words[0].text.as_str());
        names.collect::<String>()
    };
    assert_eq!(of(|one| one.in_background), "abcefg");
    assert_eq!(of(|one| one.loops > 0), "e");
    assert_eq!(of(|one| one.block > 0), "eghi");
    let lines: Vec<_> = found.iter().map(|one| one.line).collect();
    assert_eq!(lines, [1, 1, 1, 1, 1, 2, 3, 3, 4, 4]);
}

#[test]
fn here_documents_and_files() {
    let text = "cat > f <<'E' 3<<B\n$x\nE\ny\nB\nsbatch -n4 <<-E\n\ta\n\tE\n\
                a <<E < f | b >> g 2> h\nc\nE\n{ d; } <<E\ne\nE\n";
    let found = scan(text.as_bytes());
    let body = |number: usize| &text[found.documents[number].range.clone()];
    let bodies: Vec<_> = (0..found.documents.len()).map(body).collect();
    assert_eq!(bodies, ["$x\n", "y\n", "\ta\n", "c\n", "e\n"]);
    let inputs: Vec<_> = found.commands.iter().map(|one| one.input).collect();
    assert_eq!(inputs, [Some(0), Some(2), None, None, None]);
    let quoted: Vec<_> = found.documents.iter().map(|one| one.is_quoted).collect();
    assert_eq!(quoted, [true, false, false, false, false]);
    assert!(found.documents[2].without_tabs && found.commands[2].is_piped);
    let files = |at: usize| -> Vec<_> {
        let outputs = found.commands[at].outputs.iter();
        outputs
            .map(|one| (one.file.text.as_str(), one.appends))
            .collect()
    };
    assert_eq!(
        (files(0), files(3)),
        (vec![("f", false)], vec![("g", true)])
    );
}

#[test]
fn shifts_are_no_here_documents() {
    for text in [
        "a $((1 << 2))\nb",
        "((a << 2))\nb",
        "a \"x << y\"\nb",
        "a '<<E'\nb",
        "a $[1<<2]\nb",
        "x[1<<2]=3 a\nb",
        "[[ a << b ]]\nb",
        "a \\<\\<E\nb",
        "a <<< E\nb",
        "# a <<E\nb",
        "a ${x:$((1<<2))}\nb",
    ] {
        let found = scan(text.as_bytes());
        assert_eq!(found.documents, [], "{text}");
        let last = found.commands.last().map(|one| one.words[0].text.clone());
        assert_eq!(last.as_deref(), Some("b"), "{text}");
    }
}

#[test]
fn what_is_known_of_a_word() {
    let found = scan(b"a $x \"$x\" \"$@\" 'y' z \"${l[@]}\" $'q'").commands;
    let of = |is: fn(&Word) -> bool| {
        found[0]
            .words
            .iter()
            .map(|word| if is(word) { '1' } else { '0' })
            .collect::<String>()
    };
    assert_eq!(of(|word| word.is_computed), "01110011");
    assert_eq!(of(|word| word.may_split), "01010010");
    assert_eq!(of(|word| word.is_plain), "11000100");
}

#[test]
fn what_never_ends_is_named() {
    for (text, what, at) in [
        ("a\nsrun 'b", "a quote", 7),
        ("srun \"b", "a quote", 5),
        ("a $(b", "a substitution", 2),
        ("a ${b", "a brace", 2),
        ("a `b", "a backtick", 2),
        ("a $(b 'c)", "a quote", 6),
        ("a <<E\nb", "a here-document", 4),
        ("a <<E", "a here-document", 4),
        ("a <<E\nE \n", "a here-document", 4),
    ] {
        assert_eq!(
            scan(text.as_bytes()).unclosed,
            Some(Unclosed { at, what }),
            "{text}"
        );
    }
    let deep = "$(".repeat(20_000);
    assert!(scan(deep.as_bytes()).unclosed.is_some());
    assert!(scan("(".repeat(20_000).as_bytes()).unclosed.is_none());
    let braces = "${a:-".repeat(20_000);
    assert!(scan(braces.as_bytes()).unclosed.is_some());
}

proptest::proptest! {
    #![proptest_config(random::config(512))]

    /// Whatever a file holds, the reading ends, words lie in it one behind the other, and what is
    /// plain is what stands there.
    #[test]
    fn any_text_is_read(text in "([ -~]|\\n|é|srun |\\$\\(|\\$\\{|`|'|\"|\\\\\n|<<E\n|case |in |esac|\\(\\(|\\)|;;|& ){0,60}") {
        let mut last = 0;
        for command in scan(text.as_bytes()).commands {
            for word in &command.words {
                proptest::prop_assert!(last <= word.range.start && word.range.end <= text.len());
                if word.is_plain {
                    proptest::prop_assert_eq!(&text[word.range.clone()], &word.text);
                }
                last = word.range.end;
            }
        }
    }
}
