// Where OpenMP puts the threads of a task, by the rules of OpenMP 5.2, chapter 10: OMP_PLACES divides the task's CPUs
// into places, OMP_PROC_BIND distributes the threads over them.
"use strict";
{
    const within = (sets, cpus) => sets.map(set => set.filter(cpu => cpus.has(cpu))).filter(set => set.length);

    // "{0:4}:2:8,{16,17}" as sets of CPUs. It has no more places than a machine has CPUs.
    function explicit(text) {
        const places = [];
        for (const [, inside, count = "1", stride] of text.matchAll(/\{([^}]*)\}(?::(\d+)(?::(-?\d+))?)?/g)) {
            const place = inside.split(",").flatMap(part => {
                const [first, length = 1, step = 1] = part.split(":").map(Number);
                return Array.from({ length: Math.min(length, 4096) }, (_, at) => first + at * step);
            });
            for (let at = 0; at < Math.min(Number(count), 4096); at += 1) {
                places.push(place.map(cpu => cpu + at * Number(stride ?? place.length)));
            }
        }
        return places;
    }

    function places(text, topo, cpus) {
        const wanted = text.trim().toLowerCase();
        if (wanted.startsWith("{")) return within(explicit(wanted), cpus);
        const [, name, limit] = /^(\w+)\s*(?:\(\s*(\d+)\s*\))?$/.exec(wanted) ?? [];
        const objects = topo.objects;
        const lists = {
            threads: objects.threads, cores: objects.cores, sockets: objects.packages,
            ll_caches: objects.l3_caches, numa_domains: objects.memory_domains,
        }[name];
        if (!lists) return undefined;
        const all = within(lists.map(page.numbers), cpus);
        return limit ? all.slice(0, Number(limit)) : all;
    }

    // The place of each of so many threads.
    function distributed(count, places, bind) {
        const size = places.length;
        const all = Array.from({ length: count }, (_, thread) => thread);
        if (bind === "primary" || bind === "master") return all.map(() => 0);
        if (bind === "spread" && count <= size) {
            return all.map(thread => Math.floor(thread * size / count));
        }
        if (count <= size) return all;
        const each = Math.floor(count / size), longer = count % size;
        return all.map(thread => thread < longer * (each + 1)
            ? Math.floor(thread / (each + 1)) : longer + Math.floor((thread - longer * (each + 1)) / each));
    }

    const BINDS = ["true", "false", "close", "spread", "primary", "master"];
    const PLACES = ["threads", "cores", "ll_caches", "numa_domains", "sockets"];

    // Why the variables leave the places of the threads unknown.
    function unknown({ OMP_NUM_THREADS: count, OMP_PLACES: places, OMP_PROC_BIND: bind }) {
        if (/\$/.test(count)) return `OMP_NUM_THREADS=${count}: only the job knows its value`;
        const word = bind?.split(",").find(one => !BINDS.includes(one.trim().toLowerCase()));
        if (word !== undefined) return `OMP_PROC_BIND=${bind}: "${word.trim()}" is none of ${BINDS.join(", ")}`;
        const isList = /^\s*(?:!?\{|$)/.test(places ?? "");
        const name = /^\s*(\w+)\s*(?:\(\s*\d+\s*\))?\s*$/.exec(places)?.[1].toLowerCase();
        return isList || PLACES.includes(name) ? undefined : `OMP_PLACES=${places} is neither a list of places nor one of ${PLACES.join(", ")}`;
    }

    // The threads of a task: { threads: Map from CPU to thread numbers, text }; undefined where no variable asks for any.
    page.openmp = (variables, topo, cpuList) => {
        const why = variables.OMP_NUM_THREADS && unknown(variables);
        if (why) return { threads: new Map(), text: why };
        const count = Number.parseInt(variables.OMP_NUM_THREADS, 10);
        if (!(count > 0) || count > 4096) return undefined;
        const cpus = new Set(page.numbers(cpuList));
        const bind = (variables.OMP_PROC_BIND ?? (variables.OMP_PLACES ? "true" : "false")).split(",")[0].trim().toLowerCase();
        if (bind === "false") {
            return { threads: new Map(), text: `${page.counted(count, "OpenMP thread")} may move among the task's CPUs` };
        }
        const found = places(variables.OMP_PLACES || "cores", topo, cpus);
        if (!found?.length) return { threads: new Map(), text: "OMP_PLACES names no place in the task's CPUs" };
        const threads = new Map(), order = distributed(count, found, bind);
        order.forEach((place, thread) => {
            for (const cpu of found[place]) threads.set(cpu, [...threads.get(cpu) ?? [], thread]);
        });
        const shared = Math.max(...[...threads.values()].map(list => list.length));
        const crowded = count > found.length || shared > 1 && bind !== "primary";
        const text = `${page.counted(count, "OpenMP thread")} on ${page.counted(new Set(order).size, "place")}` +
            (crowded ? "; several threads share a place" : "");
        return { threads, text };
    };
}
