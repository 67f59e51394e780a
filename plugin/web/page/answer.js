// One line's answer: the plan as picture, table and reasons. In: what is asked. Out: the filled section, and the plan.
"use strict";
{
    // A longer table is cut on the page; the JSON has every task.
    const MOST_ROWS = 512;
    const { element } = page;

    // A text of several lines is a batch script.
    page.isScript = text => /^#!|^#SBATCH/m.test(text) || text.trim().replaceAll("\\\n", "").includes("\n");

    // What a line asks of the engine.
    page.asked = (state, line) => {
        const script = page.isScript(line) ? line : undefined;
        return {
            machine: state.machine, name: state.name || undefined, options: state.options, variables: state.variables,
            line: script === undefined ? line : "sbatch job.sh", script,
        };
    };

    const HEAD = ["task", "node", "CPUs", "cores", "L3", "NUMA", "socket", "GPUs", "mask"];

    function rows(view) {
        const { plan } = view;
        return plan.tasks.slice(0, MOST_ROWS).map(task => [
            task.task, plan.nodes[task.node].name, task.cpus ?? "not bound", task.cores, task.l3_caches, task.numa_nodes, task.sockets,
            page.list(task.gpus ?? []), task.mask,
        ]);
    }

    function taskTable(view) {
        const all = rows(view), more = view.plan.tasks.length - all.length;
        const made = page.table(`${page.counted(view.plan.tasks.length, "task")}${more > 0 ? `, the first ${MOST_ROWS} shown` : ""}`, HEAD, all);
        [...made.tBodies[0].rows].forEach((row, at) => {
            const { task } = view.plan.tasks[at];
            row.dataset.tasks = task;
            const chip = element("span", { class: "chip", "aria-hidden": "true" });
            chip.style.background = page.colour(task);
            row.cells[0].prepend(chip);
            const show = () => {
                page.light(view, [task]);
                view.details.textContent = page.describeTask(view, task);
            };
            row.tabIndex = 0;
            row.addEventListener("mouseenter", show);
            row.addEventListener("focus", show);
        });
        made.addEventListener("mouseleave", () => page.light(view, []));
        const copy = () => page.copy([HEAD, ...all].map(row => row.map(text => text ?? "").join("\t")).join("\n"), "The table is copied");
        return element("div", { class: "tasks" }, element("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `Tasks of ${view.line}` }, made),
            element("button", { type: "button", class: "apply", onclick: copy }, "Copy table"));
    }

    function legend(view) {
        const states = new Set();
        for (const cells of view.cells) {
            if (cells.size < view.topo.m_thread) states.add("outside");
            for (const cell of cells.values()) {
                states.add(cell.tasks.length > 1 ? "shared" : cell.tasks.length ? "one" : "free");
                if (cell.short) states.add("short");
            }
        }
        const words = {
            one: "the task with this number", shared: "several tasks share it", free: "free in the step", outside: "not the step's",
            short: "a task here has fewer CPUs than it requests",
        };
        const marks = { one: "3", shared: "3+", free: "", outside: "·", short: "3" };
        const items = Object.keys(words).filter(state => states.has(state));
        return element("ul", { class: "legend", "aria-label": "Marks" }, ...items.map(state => element("li", {},
            element("span", { class: `cpu ${state}`, "aria-hidden": "true" }, element("b", {}, marks[state])), ` ${words[state]}`)));
    }

    // The threads of OpenMP in each task; the variables before the line win.
    function threads(view, state, line) {
        const variables = { ...state.variables, ...page.line.variables(line) };
        const list = view.plan.tasks.slice(0, 4096).map(task => [task.task, task.cpus && page.openmp(variables, view.topo, task.cpus)]);
        return new Map(list.filter(([, found]) => found));
    }

    function view(root, state, line, plan, topo) {
        const made = { root, line, plan, topo, cells: page.cells(plan, topo), buttons: new Map(), byNumber: new Map(plan.tasks.map(task => [task.task, task])) };
        made.threads = threads(made, state, line);
        made.details = element("p", { class: "details", "aria-live": "polite" }, "Point at a CPU or a row, or go there by keyboard, to see its task.");
        return made;
    }

    function openmpNote(view) {
        const texts = new Set([...view.threads.values()].map(found => found.text));
        return texts.size ? element("p", { class: "hint" }, `In each task: ${[...texts].slice(0, 3).join("; or ")}. Small t0, t1, … are its threads.`) : undefined;
    }

    function steps(asked) {
        const shown = berth.run({ face: "plan", machine: asked.machine, name: asked.name, line: asked.line, script: asked.script,
            words: [...asked.options, "--width=100"], variables: asked.variables });
        return element("details", { class: "fold", open: true }, element("summary", {}, "Steps of the script"), element("pre", { class: "scroll", tabindex: 0 }, shown.output));
    }

    // Shows a line's answer in a section. `use` takes a corrected line. Returns the plan, or undefined.
    page.answer = (root, state, line, use) => {
        const asked = page.asked(state, line);
        const words = [...asked.options, "--format=json", "--explain"];
        const done = berth.run({ face: "plan", machine: asked.machine, name: asked.name, line: asked.line, script: asked.script, words, variables: asked.variables });
        if (!done.output) {
            root.replaceChildren(element("h2", {}, line), ...page.refusal(line, done.messages));
            return undefined;
        }
        const plan = JSON.parse(done.output);
        const shown = view(root, state, line, plan, state.topo);
        const rules = [...new Set(Object.values(plan.rules))].join(", ");
        const summary = `${page.counted(plan.tasks.length, "task")} on ${page.counted(plan.nodes.length, "node")}, rule ${rules}; ${plan.allocation}`;
        performance.mark("plan");
        const picture = page.picture(shown);
        performance.measure("picture", "plan");
        const parts = [element("h2", {}, line.split("\n")[0]), element("p", { class: "summary" }, summary), page.notes(plan.notes) || undefined,
            openmpNote(shown), picture, legend(shown), shown.details, asked.script && steps(asked), page.changes(plan, line, use),
            element("div", { class: "findings-place" }), page.explanation(plan), page.quality(plan), page.assumed(plan), taskTable(shown)];
        root.replaceChildren(...parts.filter(Boolean));
        return plan;
    };

    // What check finds comes after the picture, because it tries more.
    page.checked = (root, state, line, use) => {
        const asked = page.asked(state, line);
        const done = berth.run({ face: "check", machine: asked.machine, name: asked.name, words: asked.options, variables: asked.variables,
            line: asked.line, script: asked.script });
        const found = done.output && page.findings(JSON.parse(done.output), line, use);
        const place = root.querySelector(".findings-place") ?? root;
        if (found) place.append(found);
    };
}
