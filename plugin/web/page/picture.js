// The nodes as boxes. Hover and keyboard focus show what a CPU holds and light up the rest of its task.
"use strict";
{
    // More nodes than this are in the table alone.
    const MOST_NODES = 16;
    const { element } = page;

    function paint(made, tasks) {
        made.style.background = page.colour(tasks[0]);
    }

    function cpuButton(view, node, cpu, core) {
        const cell = view.cells[node].get(cpu);
        const tasks = cell?.tasks ?? [];
        const state = page.state(view, node, cell);
        const threads = tasks.length === 1 ? view.threads.get(tasks[0])?.threads.get(cpu) : undefined;
        const label = { outside: "·", free: "", one: `${tasks[0]}`, shared: `${tasks[0]}+`, all: "all" }[state];
        const made = element("button", {
            type: "button", tabindex: -1, "data-node": node, "data-cpu": cpu,
            class: `cpu ${state}${cell?.short ? " short" : ""}${label.length > 3 ? " long" : ""}`,
        }, element("b", {}, label), threads && element("small", {}, `t${page.list(threads)}`));
        // What is seen comes first in what is read out.
        made.words = describe(view, node, cpu, core);
        made.setAttribute("aria-label", `${made.textContent} ${made.words}`.trim());
        if (state === "one" || state === "shared") paint(made, tasks);
        view.buttons.set(`${node}.${cpu}`, made);
        return made;
    }

    function gpuChip(gpu) {
        const text = gpu.tasks.length ? `${gpu.name} → ${gpu.tasks.length > 3 ? page.list(gpu.tasks) : gpu.tasks.join(", ")}` : gpu.name;
        const made = element("span", { class: "gpu", "data-tasks": gpu.tasks.join(" ") }, text);
        if (gpu.tasks.length === 1) paint(made, gpu.tasks);
        return made;
    }

    // The GPUs whose neighbours are exactly an area's CPUs stand in it; the others in the head of the node.
    function takeGpus(gpus, cores) {
        const cpus = new Set(cores.flatMap(core => core.cpus));
        const near = gpus.filter(gpu => gpu.cpus.length === cpus.size && gpu.cpus.every(cpu => cpus.has(cpu)));
        near.forEach(gpu => gpus.splice(gpus.indexOf(gpu), 1));
        return near.map(gpuChip);
    }

    function areaBox(view, node, area, gpus) {
        const chips = takeGpus(gpus, area.cores);
        const content = area.inner.length
            ? area.inner.map(inner => areaBox(view, node, inner, gpus))
            : area.cores.map(core => element("div", { class: "core" }, element("small", {}, `core ${core.core}`),
                element("div", { class: "cpus" }, ...core.cpus.map(cpu => cpuButton(view, node, cpu, core)))));
        const inside = element("div", { class: area.inner.length ? "areas" : "cores" }, ...content);
        if (!area.inner.length) inside.style.maxWidth = width(area.cores);
        return element("div", { class: `area ${area.kind}` }, element("div", { class: "names" }, area.names.join(" · "), ...chips), inside);
    }

    // About as many rows of cores as columns, each row full where that is possible.
    function width(cores) {
        const root = Math.ceil(Math.sqrt(cores.length));
        const divisors = Array.from({ length: root }, (_, at) => root + at).filter(count => cores.length % count === 0);
        const columns = cores.length <= 4 ? cores.length : divisors[0] ?? root;
        const threads = Math.max(...cores.map(core => core.cpus.length));
        return `calc(${columns} * (${threads} * (var(--cell) + 2px) + 8px))`;
    }

    function nodeBox(view, areas, node) {
        const gpus = page.gpus(view.plan, view.topo, node);
        const boxes = areas.map(area => areaBox(view, node, area, gpus));
        const name = `${view.plan.nodes[node].name}, ${page.counted(view.plan.nodes[node].tasks, "task")}`;
        return element("div", { class: "node", role: "group", "aria-label": name },
            element("div", { class: "names" }, name, ...gpus.map(gpuChip)), element("div", { class: "areas" }, ...boxes));
    }

    // What a CPU holds, in words.
    function describe(view, node, cpu, core) {
        const cell = view.cells[node].get(cpu), tasks = cell?.tasks ?? [];
        const holds = !cell ? "not the step's" : !tasks.length ? "free"
            : tasks.length > 1 ? `shared by tasks ${page.list(tasks)}` : `task ${tasks[0]}`;
        return `CPU ${cpu}, core ${core.core}, socket ${core.socket}: ${holds}${cell?.short ? ", fewer CPUs than requested" : ""}`;
    }

    // What a task has, in words.
    page.describeTask = (view, number) => {
        const task = view.byNumber.get(number);
        if (!task) return "";
        const part = (name, list) => list ? ` · ${name} ${list}` : "";
        const gpus = task.gpus?.length ? page.list(task.gpus) : "";
        const threads = view.threads.get(number);
        return `task ${number} on ${view.plan.nodes[task.node].name}: CPUs ${task.cpus ?? "not bound"}${part("cores", task.cores)}` +
            part("L3", task.l3_caches) + part("NUMA", task.numa_nodes) + part("socket", task.sockets) + part("GPUs", gpus) +
            (task.mask ? ` · mask ${task.mask}` : "") + (threads ? ` · ${threads.text}` : "");
    };

    // Lights up tasks everywhere in an answer; none takes the light away.
    page.light = (view, tasks) => {
        const lit = new Set(tasks);
        view.root.classList.toggle("lighting", lit.size > 0);
        const holds = list => list.some(task => lit.has(task));
        for (const [key, made] of view.buttons) {
            const [node, cpu] = key.split(".").map(Number);
            made.classList.toggle("lit", holds(view.cells[node].get(cpu)?.tasks ?? []));
        }
        for (const made of view.root.querySelectorAll("[data-tasks]")) {
            made.classList.toggle("lit", holds(made.dataset.tasks.split(" ").filter(Boolean).map(Number)));
        }
    };

    function show(view, made) {
        const node = Number(made.dataset.node), cpu = Number(made.dataset.cpu);
        const tasks = view.cells[node].get(cpu)?.tasks ?? [];
        page.light(view, tasks);
        const words = tasks.slice(0, 4).map(task => page.describeTask(view, task));
        view.details.textContent = [made.words, ...words].join("\n");
    }

    // The arrow keys go from CPU to CPU in the order of the picture; Home and End to the first and the last.
    function walk(view, event) {
        const all = [...view.buttons.values()], at = all.indexOf(document.activeElement);
        const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 8, ArrowUp: -8, Home: -all.length, End: all.length };
        if (at < 0 || !(event.key in steps)) return;
        event.preventDefault();
        const to = all[Math.min(Math.max(at + steps[event.key], 0), all.length - 1)];
        all[at].tabIndex = -1;
        to.tabIndex = 0;
        to.focus();
    }

    page.picture = view => {
        const areas = page.areas(view.topo);
        const count = Math.min(view.plan.nodes.length, MOST_NODES);
        const nodes = Array.from({ length: count }, (_, node) => nodeBox(view, areas, node));
        const more = view.plan.nodes.length - count;
        const made = element("div", { class: "picture", role: "group", "aria-label": "Picture of the nodes; the arrow keys go from CPU to CPU" },
            ...nodes, more > 0 ? element("p", { class: "hint" }, `${page.counted(more, "more node")} in the table alone`) : undefined);
        const first = view.buttons.values().next().value;
        if (first) first.tabIndex = 0;
        const on = handler => event => {
            const cpu = event.target.closest?.(".cpu");
            if (cpu) handler(cpu);
        };
        made.addEventListener("mouseover", on(cpu => show(view, cpu)));
        made.addEventListener("focusin", on(cpu => show(view, cpu)));
        made.addEventListener("click", on(cpu => show(view, cpu)));
        made.addEventListener("mouseleave", () => page.light(view, []));
        made.addEventListener("keydown", event => walk(view, event));
        return made;
    };
}
