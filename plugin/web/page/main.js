// The page: from its address and fields to a state, and from the state to answers.
"use strict";
{
    const { at } = page;
    const FIRST = { machine: "lumi-g", line: "srun -N1 -n8 -c16 --gpus-per-task=1 ./app", site: "exclusive" };
    // A link with more XML than this would be of no use anywhere.
    const MOST_XML = 16 << 20;
    // After a plan that took longer, in milliseconds, the next one waits until nobody types.
    const SLOW = 500, PAUSE = 1000;
    const STEPS = { first: "step", second: "other-step" }, LINES = { first: "line", second: "other" };
    let state, packed = { xml: "", text: "" }, chosen = {};

    function read() {
        const { options, variables } = page.controls.read();
        const isXml = page.machine.isXml();
        return {
            machine: page.machine.text(), name: isXml ? page.machine.name : undefined, line: at("line").value.trim(),
            other: at("comparison").open ? at("other").value.trim() : "", options, variables,
        };
    }

    const letters = { "+": "-", "/": "_", "-": "+", _: "/" };

    // The XML as a part of the address: compressed, in letters that an address may have.
    async function pack(xml) {
        const stream = new Blob([xml]).stream().pipeThrough(new CompressionStream("gzip"));
        const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
        return btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join("")).replace(/[+/]/g, letter => letters[letter]).replace(/=+$/, "");
    }

    // The same back; text that unpacks to more than any machine has is refused.
    async function unpack(text) {
        const bytes = Uint8Array.from(atob(text.replace(/[-_]/g, letter => letters[letter])), letter => letter.charCodeAt(0));
        const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
        const parts = [];
        let size = 0;
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
            size += part.value.length;
            if (size > MOST_XML) throw new Error("the link has more XML than any machine");
            parts.push(part.value);
        }
        return new Blob(parts).text();
    }

    async function address() {
        const words = new URLSearchParams();
        if (page.machine.isXml()) {
            const { xml, name } = page.machine;
            if (packed.xml !== xml) packed = { xml, text: await pack(xml) };
            words.set("xml", packed.text);
            if (name) words.set("name", name);
        } else words.set("machine", at("preset").value === "description" ? state.machine : at("preset").value);
        words.set("line", state.line);
        if (state.other) words.set("other", state.other);
        for (const [id, text] of [["first", state.line], ["second", state.other]]) {
            if (chosen[id] !== undefined && page.isScript(text)) words.set(STEPS[id], chosen[id]);
        }
        for (const [name, field] of page.controls.fields()) if (field.value.trim()) words.set(name, field.value.trim());
        const hash = `#${words.toString().replaceAll("+", "%20")}`;
        if (hash !== location.hash) history.replaceState(null, "", hash);
    }

    async function fromAddress() {
        const words = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
        const has = name => words.get(name) ?? "";
        page.machine.damaged = false;
        page.machine.choose(has("machine") || FIRST.machine);
        if (has("xml")) {
            try {
                page.machine.useXml(await unpack(has("xml")), has("name"));
            } catch {
                page.machine.useXml("", has("name"));
                page.machine.damaged = true;
            }
        }
        at("line").value = words.has("line") ? has("line") : FIRST.line;
        at("other").value = has("other");
        const number = name => /^\d+$/.test(has(name)) ? Number(has(name)) : undefined;
        chosen = { first: number(STEPS.first), second: number(STEPS.second) };
        const isFirst = location.hash.length < 2;
        for (const [name, field] of page.controls.fields()) page.controls.give(field, isFirst && FIRST[name] || has(name));
        page.controls.open();
    }

    function topo() {
        const asked = { machine: state.machine, name: state.name, options: state.options };
        const key = JSON.stringify(asked);
        if (key !== topo.key) Object.assign(topo, { key, found: berth.topo(asked) });
        return topo.found;
    }

    // The topology, or undefined with the reason on the page.
    function machine() {
        if (page.machine.damaged) {
            page.machine.show("the XML in this link is damaged or cut off");
            return false;
        }
        try {
            state.topo = topo();
            page.machine.show();
            return true;
        } catch (why) {
            topo.key = undefined;
            page.machine.show(why.message.split("\n\nUsage:")[0].replace(/^error: /, ""));
            return false;
        }
    }

    const use = id => line => {
        at(id).value = line;
        update();
        at(id).focus();
    };

    // The answer to one of the two lines.
    function answer(id, line) {
        const pick = number => {
            chosen[id] = number;
            update();
        };
        return page.answer(at(id), state, line, use(LINES[id]), chosen[id], pick);
    }

    function show() {
        const one = answer("first", state.line);
        state.step = one.step;
        at("second").hidden = at("difference").hidden = !state.other;
        at("answers").classList.toggle("two", Boolean(state.other));
        if (!state.other) return { first: one };
        const second = answer("second", state.other);
        page.difference(at("difference"), one.plan, second.plan);
        return { first: one, second };
    }

    // No answer may stay while the machine is wrong.
    function clear() {
        for (const id of ["first", "second", "difference"]) at(id).replaceChildren();
        at("second").hidden = at("difference").hidden = true;
        at("answers").classList.remove("two");
    }

    let later, duration = 0;
    function plan() {
        const start = performance.now();
        const shown = machine() ? show() : clear();
        duration = performance.now() - start;
        at("answers").removeAttribute("aria-busy");
        later = setTimeout(() => {
            // What cannot be read from the address stays in it.
            if (!page.machine.damaged) address();
            if (!shown) return;
            page.checked(at("first"), state, state.line, use("line"), shown.first);
            if (shown.second) page.checked(at("second"), state, state.other, use("other"), shown.second);
        }, 150);
    }

    function update() {
        state = read();
        page.controls.follow(at("line").value);
        clearTimeout(later);
        if (duration <= SLOW) return plan();
        at("answers").setAttribute("aria-busy", "true");
        later = setTimeout(plan, PAUSE);
        return undefined;
    }

    // For pages that build on this one, and for the page's own check.
    page.update = update;

    async function start() {
        await berth.ready;
        const options = berth.options();
        page.line.learn(options);
        const releases = options.find(option => option.long === "slurm").values.map(choice => page.element("option", {}, choice.word));
        document.querySelector("[data-rule=slurm]").append(...releases);
        await page.machine.fill();
        await fromAddress();
        page.machine.listen(update);
        page.controls.listen(at("line"), update);
        page.complete(at("line"), options, update);
        for (const field of [at("line"), at("other")]) field.addEventListener("input", update);
        at("comparison").addEventListener("toggle", update);
        at("request").addEventListener("submit", event => event.preventDefault());
        addEventListener("hashchange", async () => {
            await fromAddress();
            update();
        });
        page.takeaway(() => state);
        update();
        document.documentElement.dataset.ready = "yes";
        if (/^https?:$/.test(location.protocol)) navigator.serviceWorker?.register("worker.js").catch(() => {});
    }

    start().catch(why => {
        at("first").replaceChildren(page.element("div", { class: "bad", role: "alert" }, `This browser cannot run the page: ${why.message}`));
    });
}
