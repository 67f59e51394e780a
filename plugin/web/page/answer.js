// One line's answer: the plan as picture, table and reasons. In: what is asked. Out: the filled section, and the plan.
"use strict";
{
    // A longer table is cut on the page; the JSON has every task.
    const MOST_ROWS = 512;
    const MOST_TITLE = 500;
    const { element } = page;

    // A text of several lines is a batch script.
    page.isScript = text => /^#!|^#SBATCH/m.test(text) || text.trim().replaceAll("\\\n", "").includes("\n");

    const SUBMIT = "sbatch job.sh";

    // What a line asks of the engine: { machine, name, line, words, variables, script }. A step of a script is planned
    // inside the script's job.
    page.asked = (state, line, words, step) => {
        const script = page.isScript(line) ? line : undefined;
        return {
            machine: state.machine, name: state.name || undefined, variables: state.variables, script,
            line: step ?? (script === undefined ? line : SUBMIT), words: [...state.options, ...step ? [`--job=${SUBMIT}`] : [], ...words],
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
            row.tabIndex = at ? -1 : 0;
            row.addEventListener("mouseenter", show);
            row.addEventListener("focus", show);
        });
        made.addEventListener("mouseleave", () => page.light(view, []));
        made.addEventListener("keydown", event => {
            const to = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
            const row = to && event.target[to];
            if (!row) return;
            event.preventDefault();
            event.target.tabIndex = -1;
            row.tabIndex = 0;
            row.focus();
        });
        const copy = () => page.copy([HEAD, ...all].map(row => row.map(text => text ?? "").join("\t")).join("\n"), "The table is copied");
        return element("div", { class: "tasks" }, element("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `Tasks of ${view.line}` }, made),
            element("button", { type: "button", class: "apply", onclick: copy }, "Copy table"));
    }

    function legend(view) {
        const states = new Set();
        for (const [node, cells] of view.cells.entries()) {
            if (cells.size < view.topo.m_thread) states.add("outside");
            for (const cell of cells.values()) {
                states.add(page.state(view, node, cell));
                if (cell.short) states.add("short");
            }
        }
        const words = {
            one: "the task with this number", shared: "several tasks share it", free: "free in the step", outside: "not the step's",
            all: "every task of the node", short: "a task here has fewer CPUs than it requests",
        };
        const marks = { one: "3", shared: "3+", all: "all", free: "", outside: "·", short: "3" };
        const cell = state => element("span", { class: `cpu ${state}`, "aria-hidden": "true" }, element("b", {}, marks[state]));
        const items = Object.keys(words).filter(state => states.has(state)).map(state => element("li", {}, cell(state), ` ${words[state]}`));
        const gpu = view.plan.tasks.find(task => task.gpus?.length);
        const seen = gpu && element("li", {}, element("span", { class: "gpu" }, `gpu${gpu.gpus[0]} → ${gpu.task}`), " a GPU, and the tasks that see it");
        return element("ul", { class: "legend", "aria-label": "Marks" }, ...items, seen);
    }

    // The threads of OpenMP in each task; the variables before the line win.
    function threads(view, state, line) {
        const variables = { ...state.variables, ...page.line.variables(line) };
        const list = view.plan.tasks.slice(0, 4096).map(task => [task.task, task.cpus && page.openmp(variables, view.topo, task.cpus)]);
        return new Map(list.filter(([, found]) => found));
    }

    function view(root, state, line, plan, topo) {
        const requested = Number(page.line.value(line, "cpus-per-task"));
        const byNumber = new Map(plan.tasks.map(task => [task.task, task]));
        const made = { root, line, plan, topo, byNumber, cells: page.cells(plan, topo, requested), buttons: new Map() };
        made.threads = threads(made, state, line);
        made.details = element("p", { class: "details", "aria-live": "polite" }, "Point at a CPU or a row, or go there by keyboard, to see its task.");
        return made;
    }

    function openmpNote(view) {
        const texts = new Set([...view.threads.values()].map(found => found.text));
        return texts.size ? element("p", { class: "hint" }, `In each task: ${[...texts].slice(0, 3).join("; or ")}. Small t0, t1, … are its threads.`) : undefined;
    }

    // The steps of a script: each planned one can be shown in place of the batch script.
    function steps(job, chosen, show) {
        if (!job?.steps) return undefined;
        const pick = (text, step) => element("button", { type: "button", "aria-pressed": `${step === chosen}`, onclick: () => show(step) }, text);
        const one = step => element("li", {}, step.status === "planned" ? pick(`line ${step.line}: ${step.text}`, step.text)
            : element("span", {}, `line ${step.line}: ${step.text}: ${step.status === "refused" ? "refused" : "not planned"}: ${step.why}`));
        return element("div", { class: "steps" }, element("h3", {}, "Steps of the script"),
            element("ul", {}, element("li", {}, pick("the batch script itself", undefined)), ...job.steps.map(one)));
    }

    function parts(view, use, picture) {
        const { plan, line } = view;
        const rules = [...new Set(Object.values(plan.rules))].join(", ");
        const summary = `${page.counted(plan.tasks.length, "task")} on ${page.counted(plan.nodes.length, "node")}, rule ${rules}; ${plan.allocation}`;
        return [element("p", { class: "summary" }, summary), page.notes(plan.notes), openmpNote(view), picture, legend(view), view.details,
            page.isScript(line) ? undefined : page.changes(plan, line, use), element("div", { class: "findings-place" }), page.explanation(plan), page.quality(plan),
            page.assumed(plan), taskTable(view)];
    }

    // Shows a line's answer in a section, or that of one step of a script. `use` takes a corrected line. Returns the plan,
    // or undefined.
    page.answer = (root, state, line, use, step, job) => {
        const done = berth.run({ face: "plan", ...page.asked(state, line, ["--format=json", "--explain"], step) });
        // A step of a script is corrected in its place.
        const useStep = step ? changed => use(line.replace(step, () => changed)) : use;
        const title = element("h2", {}, step ?? (page.isScript(line) ? "batch script" : line.slice(0, MOST_TITLE)));
        const plan = done.output ? JSON.parse(done.output) : undefined;
        const list = steps(plan?.job ?? job, step, next => page.answer(root, state, line, use, next, plan?.job ?? job));
        if (!plan) {
            root.replaceChildren(...[title, ...page.refusal(step ?? line, done.messages, useStep), list].filter(Boolean));
            return undefined;
        }
        const shown = view(root, state, step ?? line, plan, state.topo);
        performance.clearMeasures("picture");
        performance.mark("plan");
        const picture = page.picture(shown);
        performance.measure("picture", "plan");
        performance.clearMarks("plan");
        root.replaceChildren(...[title, list, ...parts(shown, useStep, picture)].filter(Boolean));
        return plan;
    };

    // What check finds comes after the picture, because it tries more.
    page.checked = (root, state, line, use) => {
        const done = berth.run({ face: "check", ...page.asked(state, line, []) });
        const found = done.output && page.findings(JSON.parse(done.output), line, use);
        const place = root.querySelector(".findings-place") ?? root;
        if (found) place.append(found);
    };
}
