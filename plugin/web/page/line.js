// A typed line, taken apart where the page changes it: words with their places, options and their values. What a line
// means is for the engine; this only finds the words.
"use strict";
page.line = {};
{
    const PROGRAMS = ["srun", "sbatch", "salloc", "mpirun", "mpiexec"];
    const REST = /^(?:&&|\|\||[|;&<>\n]|\d?>)/;
    let longs = new Map(), shorts = new Map();

    // The options that the engine describes: whether each takes a value.
    page.line.learn = options => {
        longs = new Map(options.filter(one => one.long).map(one => [one.long, one]));
        shorts = new Map(options.filter(one => one.short).map(one => [one.short, one]));
    };

    // The words from a place until the shell's own part begins: { text, start, end }, and where that is.
    function words(line, from) {
        const found = [];
        let at = from;
        while (at < line.length) {
            if (/\s/.test(line[at]) && line[at] !== "\n" || line.startsWith("\\\n", at)) {
                at += line[at] === "\\" ? 2 : 1;
                continue;
            }
            if (REST.test(line.slice(at, at + 2)) || line[at] === "#") break;
            const start = at;
            let text = "", quote = "";
            for (; at < line.length; at += 1) {
                const letter = line[at];
                if (quote ? letter === quote : letter === "'" || letter === '"') quote = quote ? "" : letter;
                else if (!quote && /[\s|;&<>]/.test(letter)) break;
                else if (letter === "\\" && quote !== "'" && at + 1 < line.length) text += line[at += 1];
                else text += letter;
            }
            found.push({ text, start, end: at });
        }
        return { found, at };
    }

    const isProgram = word => PROGRAMS.includes(word.text.split("/").pop());

    // The words of the first command that starts tasks, or else those of the first command.
    function command(line) {
        const first = words(line, 0);
        for (let { found, at } = first; ; { found, at } = words(line, at)) {
            if (found.some(isProgram)) return found;
            const rest = /^(?:#[^\n]*|&&|\|\||[^#])/.exec(line.slice(at));
            if (!rest) return first.found;
            at += rest[0].length;
        }
    }

    // The name of a long option as the tables have it: getopt takes its unique beginning, and Slurm _ for -.
    function whole(typed) {
        const name = typed.replaceAll("_", "-");
        const near = longs.has(name) ? [] : [...longs.keys()].filter(long => name && long.startsWith(name));
        return near.length === 1 ? near[0] : name;
    }

    // The options of a line: { name, value, start, end }, where they begin and end, and the variables before them.
    function read(line) {
        const all = command(line);
        const first = all.findIndex(isProgram);
        const before = all.slice(0, Math.max(first, 0)).filter(word => /^\w+=/.test(word.text));
        const options = [];
        let at = first + 1, end = first < 0 ? 0 : all[first].end;
        while (at < all.length && /^-./.test(all[at].text) && all[at].text !== "--") {
            const word = all[at], next = all[at + 1];
            const found = one(word.text, next?.text);
            const last = found.takesNext && next ? next : word;
            options.push({ name: found.name, value: found.value, start: word.start, end: last.end });
            end = last.end;
            at += found.takesNext ? 2 : 1;
        }
        return { words: all, program: all[first], options, end, variables: before.map(word => word.text) };
    }

    function one(text, next) {
        if (!text.startsWith("--")) {
            const known = shorts.get(text[1]);
            const rest = text.slice(2).replace(/^=/, "");
            const takesNext = Boolean(known?.value) && text.length === 2;
            return { name: known?.long ?? text[1], value: takesNext ? next : rest, takesNext };
        }
        const [, typed, value] = /^--([^=]*)(?:=(.*))?$/s.exec(text);
        const name = whole(typed);
        const takesNext = value === undefined && Boolean(longs.get(name)?.value) && !longs.get(name).optional;
        return { name, value: takesNext ? next : value ?? "", takesNext };
    }

    page.line.read = read;
    page.line.variables = line => Object.fromEntries(read(line).variables.map(text => {
        const at = text.indexOf("=");
        return [text.slice(0, at), text.slice(at + 1)];
    }));

    // The value of an option; undefined where the line does not have it.
    page.line.value = (line, name) => page.line.isMpi(line) ? undefined : read(line).options.findLast(option => option.name === name)?.value;

    // Whether the options are those of mpirun, which have other meanings.
    page.line.isMpi = line => /(?:^|\/)mpi(?:run|exec)$/.test(read(line).program?.text);

    const quoted = text => /^[\w@%+=:,./-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

    // The line with an option set to a value; undefined takes the option away, and true stands for no value.
    page.line.with = (line, name, value, short) => {
        const found = read(line);
        const old = found.options.filter(option => option.name === name);
        const spelled = value === true ? `--${name}` : short ? `-${short} ${quoted(value)}` : `--${name}=${quoted(value)}`;
        let changed = line;
        for (const option of old.reverse()) {
            const is_last = option === old[0];
            const into = value === undefined || !is_last ? "" : spelled;
            const start = into ? option.start : option.start - /\s*$/.exec(changed.slice(0, option.start))[0].length;
            changed = changed.slice(0, start) + into + changed.slice(option.end);
        }
        if (old.length || value === undefined) return changed;
        if (!found.program && !found.options.length) return `srun ${spelled} ${line.trim() || "./app"}`;
        return `${line.slice(0, found.end)} ${spelled}${line.slice(found.end)}`.trimStart();
    };

    // The line with several options as the engine spells them: "-m block:cyclic --exclusive".
    page.line.applied = (line, options) => {
        for (const option of read(`srun ${options}`).options) {
            const short = { ntasks: "n", "cpus-per-task": "c", distribution: "m", nodes: "N" }[option.name];
            line = page.line.with(line, option.name, option.value || true, short);
        }
        return line;
    };

    // The word of the line that a message is about: { start, end }, or undefined.
    page.line.wrong = (line, message) => {
        const has = text => text.length > 1 && text.length < 500 && new RegExp(`(^|[^\\w-])${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}($|[^\\w-])`).test(message);
        const { words: all, options } = read(line);
        const whole = all.find(word => word.text.startsWith("-") && has(word.text));
        if (whole) return whole;
        return all.find(word => word.text.startsWith("-") && has(word.text.split("=")[0])) ??
            options.find(option => has(`--${option.name}`)) ?? all.find(word => has(`'${word.text}'`) || has(`"${word.text}"`));
    };
}
