// Why the plan is as it is: notes, a refusal with a mark under the wrong word, the sentences of --explain, what check
// finds, and figures. Each correction has a button that applies it.
"use strict";
{
    const { element } = page;

    const button = (text, apply) => element("button", { type: "button", class: "apply", onclick: apply }, text);

    // The line with a mark under the word that a message is about.
    function marked(line, message) {
        const wrong = line.includes("\n") ? undefined : page.line.wrong(line, message);
        if (!wrong) return undefined;
        const below = " ".repeat(wrong.start) + "^".repeat(wrong.end - wrong.start);
        return element("pre", { class: "marked", "aria-label": `The message is about ${line.slice(wrong.start, wrong.end)}` }, `${line}\n${below}`);
    }

    const TITLES = { usage: "This line is wrong", refused: "The step is refused", failed: "There is no plan" };

    // The option that a refusal itself names as the way out, as in "plan on several with -N 4".
    function wayOut(line, text, use) {
        const option = /\b(?:with|use) (-\w \d+|--[\w-]+(?:=[\w:.,]+)?)$/.exec(text)?.[1];
        return option ? button(`Use ${option}`, () => use(page.line.applied(line, option))) : undefined;
    }

    // A line without a plan.
    page.refusal = (line, messages, use) => messages.filter(message => message.kind !== "note").map(message => {
        const text = message.text.split("\n\nUsage:")[0].replace(/^error: /, "").trim();
        return element("div", { class: "bad", role: "alert" },
            element("strong", {}, `${TITLES[message.kind] ?? "There is no plan"}: `), text, marked(line, text), " ", wayOut(line, text, use));
    });

    // What did not fit, and what else the plan notes.
    page.notes = notes => !notes.length ? undefined : element("ul", { class: "notes", "aria-label": "Notes" },
        ...notes.map(note => element("li", {}, note)));

    // What --explain says; the sentence of each task is in the table already.
    page.explanation = plan => {
        const sentences = (plan.explanation ?? []).filter(line => !/^(task \d+ |change |\.\.\. )/.test(line));
        if (!sentences.length) return undefined;
        const words = line => /^(\S+)\s+(.*)$/s.exec(line)?.slice(1) ?? ["", line];
        const items = sentences.map(words).flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]);
        return element("details", { class: "fold", open: true }, element("summary", {}, "Why"), element("dl", { class: "why" }, ...items));
    };

    // A change's effect in words, from the kind that the document names.
    const EFFECTS = {
        "close-neighbours": "puts more neighbouring tasks on one socket",
        "spread-neighbours": "puts fewer neighbouring tasks on one socket",
        "one-thread": "gives each task a core for each of its CPUs, with one hardware thread of it",
        "as-requested": "gives each task exactly the CPUs that it requests",
        "whole-cores": "gives each task whole cores",
        "own-cpus": "gives each task CPUs that no other task has",
        level: "binds each task to a part of the step's CPUs",
        served: "can be served",
    };

    page.changes = (plan, line, use) => {
        const changes = plan.changes ?? [];
        if (!changes.length) return undefined;
        return element("div", { class: "changes" }, element("h3", {}, "What would change it"),
            element("ul", {}, ...changes.map(({ options, effect }) => element("li", {},
                button(`Use ${options}`, () => use(page.line.applied(line, options))), ` ${EFFECTS[effect] ?? effect}`))));
    };

    // What berth check finds in the line, and the corrected line.
    page.findings = (report, text, use) => {
        if (!report.findings.length) return undefined;
        const items = report.findings.map(finding => element("li", { class: finding.level },
            element("strong", {}, finding.found), ` (${finding.rule}): ${finding.why}`));
        const lines = text.split("\n");
        for (const { line, text: corrected } of report.corrected) lines[line - 1] = corrected;
        const instead = report.corrected.length && element("p", { class: "instead" },
            element("code", {}, report.corrected.map(one => one.text).join("\n")), " ",
            button("Use the corrected line", () => use(lines.join("\n"))));
        return element("div", { class: "findings" }, element("h3", {}, "What check finds"), element("ul", {}, ...items), instead || undefined);
    };

    const FIGURES = {
        spanning_numa: "tasks that span NUMA nodes", spanning_l3: "tasks that span L3 caches",
        spanning_packages: "tasks that span sockets", shared_cores: "cores that tasks share", idle_cores: "idle cores of the step",
        tasks_per_numa: "tasks per NUMA node", tasks_per_l3: "tasks per L3 cache", far_cpus: "CPUs far from their task's memory",
        neighbours_apart: "neighbouring tasks without a NUMA node in common",
    };

    // The figures of a plan: [[name, value]…], by the number of tasks on a node.
    page.figures = plan => Object.entries(plan.quality).flatMap(([tasks, figures]) => Object.entries(figures ?? {}).map(([name, value]) => {
        const node = Object.keys(plan.quality).length > 1 ? ` (nodes with ${page.counted(Number(tasks), "task")})` : "";
        const text = Array.isArray(value) ? value.join(", ") : value === null ? "unknown" : typeof value === "object" ? JSON.stringify(value) : `${value}`;
        return [`${FIGURES[name] ?? name.replaceAll("_", " ")}${node}`, text];
    }));

    page.quality = plan => {
        const figures = page.figures(plan);
        return figures.length ? element("details", { class: "fold" }, element("summary", {}, "Figures"),
            page.table("Figures of the plan", ["figure", "value"], figures)) : undefined;
    };

    // What the answer rests on.
    page.assumed = plan => element("details", { class: "fold" }, element("summary", {}, "Assumptions"), element("ul", {},
        ...plan.assumed.map(fact => element("li", {}, `${fact.what}: ${fact.value} (${fact.by}${fact.source ? `: ${fact.source}` : ""})`))));
}
