// What each CPU of a node holds, and the boxes around it. In: the documents of berth plan and berth topo.
"use strict";
{
    // What the CPUs of every node hold: for each node a Map from CPU to { tasks, short }. `requested` is the line's -c.
    page.cells = (plan, topo, requested) => {
        const cores = new Map(topo.cores.map(core => [core.core, core.cpus]));
        const nodes = plan.nodes.map(node => {
            const owned = page.numbers(node.step_cores).flatMap(core => cores.get(core) ?? []);
            return new Map(owned.map(cpu => [cpu, { tasks: [], short: false }]));
        });
        for (const task of plan.tasks) {
            const cells = nodes[task.node];
            const { cpus_per_task: served, rule } = plan.nodes[task.node];
            const isList = /^(map|mask)/.test(rule);
            const wanted = isList ? 0 : Math.max(served, requested || 0);
            const cpus = task.cpus ? page.numbers(task.cpus) : [...cells.keys()];
            for (const cpu of cpus) {
                if (!cells.has(cpu)) cells.set(cpu, { tasks: [], short: false });
                cells.get(cpu).tasks.push(task.task);
                cells.get(cpu).short ||= Boolean(task.cpus) && cpus.length < wanted;
            }
        }
        return nodes;
    };

    // What a CPU shows: "outside", "free", "one", "shared" or "all".
    page.state = (view, node, cell) => {
        if (!cell) return "outside";
        const count = cell.tasks.length;
        if (count < 2) return count ? "one" : "free";
        return count === view.plan.nodes[node].tasks ? "all" : "shared";
    };

    const NAMES = { numa: "NUMA", l3: "L3" };

    // Successive cores of one domain: [[number, cores]…].
    function runs(cores, kind) {
        const found = [];
        for (const core of cores) {
            if (found.length && found.at(-1)[0] === core[kind]) found.at(-1)[1].push(core);
            else found.push([core[kind], [core]]);
        }
        return found;
    }

    // An area: { kind, names, cores, inner }. One that would be the whole of its parent only gives the parent its name.
    function area(kind, names, cores, kinds) {
        const made = { kind, names: [...names], cores, inner: [] };
        const rest = [...kinds].sort((one, other) => runs(cores, one).length - runs(cores, other).length);
        while (rest.length) {
            const next = rest.shift(), parts = runs(cores, next);
            const name = number => number === undefined ? [] : [`${NAMES[next]} ${number}`];
            if (parts.length > 1) {
                made.inner = parts.map(([number, inside]) => area(next, name(number), inside, rest));
                return made;
            }
            made.names.push(...name(parts[0]?.[0]));
        }
        return made;
    }

    // The sockets of a node with the NUMA nodes and caches in them.
    page.areas = topo => {
        const l3 = new Map();
        topo.objects.l3_caches.forEach((list, at) => page.numbers(list).forEach(cpu => l3.set(cpu, at)));
        const cores = topo.cores.map(core => ({ ...core, numa: core.numa_node ?? undefined, l3: l3.get(core.cpus[0]) }));
        const kinds = ["numa", "l3"].filter(kind => runs(cores, kind).length > 1);
        return bySocket(cores).map(([number, inside]) => area("socket", [`socket ${number}`], inside, kinds));
    };

    function bySocket(cores) {
        const found = new Map();
        for (const core of cores) found.set(core.socket, [...found.get(core.socket) ?? [], core]);
        return [...found];
    }

    // The GPUs of a node: { name, number, cpus, tasks }, with the tasks of the plan that see each.
    page.gpus = (plan, topo, node) => {
        const gpus = topo.devices.filter(device => device.kind === "gpu");
        return gpus.map((device, number) => {
            const sees = task => task.node === node && (task.gpus?.includes(number) ||
                task.devices?.some(one => one.names?.includes(device.names[0])));
            const tasks = plan.tasks.filter(sees).map(task => task.task);
            return { name: device.names[0] ?? `gpu${number}`, number, cpus: page.numbers(device.cpus), numa: device.numa_node, tasks };
        });
    };

    // A colour that is pale enough for black letters; neighbours are far apart on the wheel, as in the command's pictures.
    page.colour = task => {
        const light = [80, 72, 87][Math.floor(task / 8) % 3];
        return `hsl(${(task * 137.508 % 360).toFixed(1)} 70% ${light}%)`;
    };
}
