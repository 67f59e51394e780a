// One line's answer: the plan as picture, table and reasons. In: what is asked. Out: the filled section, and the plan.
"use strict";
{
    // A longer table is cut on the page; the JSON has every task.
    const MOST_ROWS = 512;
    const MOST_TITLE = 500;
    const { element } = page;

    // A text of several lines is a batch script.
    page.isScript = text => /^#!|^#SBATCH/m.test(text) || text.trim().replaceAll("\\\n", "").includes("\n");

    // The fields beside the line change lines of srun alone: which line of a script is meant, nobody can say.
    page.isFixed = text => page.isScript(text) || page.line.isMpi(text);

    const SUBMIT = "sbatch job.sh";

    // What a line asks of the engine: { machine, name, line, words, variables, script }. A step of a script, by its text,
    // is planned inside the script's job.
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
        variables.OMP_NUM_THREADS = variables.OMP_NUM_THREADS?.replace(/^\$\{?SLURM_CPUS_PER_TASK\}?$/, all => page.line.value(line, "cpus-per-task") ?? all);
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

    // The steps of a script: each planned one can be shown in place of the batch script. Their numbers begin with 1.
    function steps(list, chosen, pick) {
        if (!list) return undefined;
        const button = (text, number) => element("button", { type: "button", "aria-pressed": `${list[number - 1] === chosen}`, onclick: () => pick(number) }, text);
        const one = (step, at) => element("li", {}, step.status === "planned" ? button(`line ${step.line}: ${step.text}`, at + 1)
            : element("span", {}, `line ${step.line}: ${step.text}: ${step.status === "refused" ? "refused" : "not planned"}: ${step.why}`));
        return element("div", { class: "steps" }, element("h3", {}, "Steps of the script"),
            element("ul", {}, element("li", {}, button("the batch script itself", 0)), ...list.map(one)));
    }

    // The step of that number; of another number the first that is planned. 0 is the batch script itself.
    function stepOf(list, number) {
        const isPlanned = step => step?.status === "planned";
        if (number === 0 || !list) return undefined;
        return isPlanned(list[number - 1]) ? list[number - 1] : list.find(isPlanned);
    }

    function parts(view, use, picture) {
        const { plan, line } = view;
        const rules = [...new Set(Object.values(plan.rules))].join(", ");
        const summary = `${page.counted(plan.tasks.length, "task")} on ${page.counted(plan.nodes.length, "node")}, rule ${rules}; ${plan.allocation}`;
        return [element("p", { class: "summary" }, summary), page.notes(plan.notes), openmpNote(view), picture, legend(view), view.details,
            page.isFixed(line) ? undefined : page.changes(plan, line, use), element("div", { class: "findings-place" }), page.explanation(plan), page.quality(plan),
            page.assumed(plan), taskTable(view)];
    }

    // The plan of a line, or of a step of its script: { plan, messages }.
    function planned(state, line, step) {
        const done = berth.run({ face: "plan", ...page.asked(state, line, ["--format=json", "--explain"], step?.text) });
        return { plan: done.output ? JSON.parse(done.output) : undefined, messages: done.messages };
    }

    // Shows a line's answer in a section, or that of a step of a script: `chosen` is its number, and `pick` takes another
    // one. `use` takes a corrected line. Returns { plan, step, steps }; without an answer the plan is undefined.
    page.answer = (root, state, line, use, chosen, pick) => {
        const whole = planned(state, line), all = whole.plan?.job?.steps;
        const step = stepOf(all, chosen), text = step?.text;
        const { plan, messages } = step ? planned(state, line, step) : whole;
        // A step of a script is corrected in its place.
        const useStep = step ? changed => use(line.replace(text, () => changed)) : use;
        const title = element("h2", {}, text ?? (page.isScript(line) ? "batch script" : line.slice(0, MOST_TITLE)));
        const list = steps(all, step, pick);
        const answer = { plan, step, steps: all };
        if (!plan) {
            root.replaceChildren(...[title, ...page.refusal(text ?? line, messages, useStep), list].filter(Boolean));
            return answer;
        }
        const shown = view(root, state, text ?? line, plan, state.topo);
        performance.clearMeasures("picture");
        performance.mark("plan");
        const picture = page.picture(shown);
        performance.measure("picture", "plan");
        performance.clearMarks("plan");
        root.replaceChildren(...[title, list, ...parts(shown, useStep, picture)].filter(Boolean));
        return answer;
    };

    // What check finds comes after the picture, because it tries more. Beside a step of a script stands nothing about
    // the other steps.
    page.checked = (root, state, line, use, { step, steps: all }) => {
        const done = berth.run({ face: "check", ...page.asked(state, line, []) });
        if (!done.output) return;
        const others = new Set(step ? all.map(one => one.line).filter(number => number !== step.line) : []);
        const report = JSON.parse(done.output), concerns = one => !others.has(one.line);
        const found = page.findings({ findings: report.findings.filter(concerns), corrected: report.corrected.filter(concerns) }, line, use);
        const place = root.querySelector(".findings-place") ?? root;
        if (found) place.append(found);
    };
}
