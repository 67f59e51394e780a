// Two lines side by side: which tasks have other CPUs, and which figures differ.
"use strict";
{
    const { element } = page;
    const MOST_ROWS = 64;

    function tasksApart(one, other) {
        const count = Math.max(one.tasks.length, other.tasks.length);
        const place = (plan, task) => task ? `${plan.nodes.length > 1 ? `${plan.nodes[task.node].name}: ` : ""}${task.cpus ?? "not bound"}` : "no such task";
        const all = Array.from({ length: count }, (_, at) => [`task ${at}`, place(one, one.tasks[at]), place(other, other.tasks[at])]);
        return all.filter(([, first, second]) => first !== second);
    }

    function figuresApart(one, other) {
        const second = new Map(page.figures(other)), first = new Map(page.figures(one));
        const names = [...new Set([...first.keys(), ...second.keys()])];
        return names.map(name => [name, first.get(name) ?? "–", second.get(name) ?? "–"]).filter(([, before, after]) => before !== after);
    }

    page.difference = (root, one, other) => {
        root.hidden = false;
        if (!one || !other) {
            root.replaceChildren(element("h2", {}, "Difference"), element("p", {}, "Only lines that both have a plan can be compared."));
            return;
        }
        const tasks = tasksApart(one, other), figures = figuresApart(one, other);
        const summary = tasks.length
            ? `${page.counted(tasks.length, "task")} of ${Math.max(one.tasks.length, other.tasks.length)} would run on other CPUs.`
            : "Every task has the same CPUs.";
        const head = ["of", "first line", "second line"];
        root.replaceChildren(element("h2", {}, "Difference"), element("p", {}, summary),
            ...[figures.length && page.table("Figures that differ", head, figures),
                tasks.length && page.table(`Tasks that differ${tasks.length > MOST_ROWS ? `, the first ${MOST_ROWS}` : ""}`, head, tasks.slice(0, MOST_ROWS))].filter(Boolean));
    };
}
