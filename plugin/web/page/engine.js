// The engine: loads the WebAssembly and calls it. One request as JSON text goes in, one answer as JSON text comes out.
// window.berth is what other pages may build on; docs/administrators/web-page.md describes it.
"use strict";
window.berth = {};
{
    let module, instance;

    // wasm.js calls this with the module: compressed by gzip, as base64 text, because a page on a disk may fetch nothing.
    berth.load = text => {
        berth.ready = start(text);
    };

    async function start(text) {
        const packed = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
        module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
        instance = await WebAssembly.instantiate(module);
    }

    function exchange(text) {
        const engine = instance.exports;
        const bytes = new TextEncoder().encode(text);
        const request = engine.reserve(bytes.length);
        new Uint8Array(engine.memory.buffer, request, bytes.length).set(bytes);
        const answer = engine.answer(request);
        const length = new DataView(engine.memory.buffer).getUint32(answer - 4, true);
        const output = new TextDecoder().decode(new Uint8Array(engine.memory.buffer, answer, length));
        engine.release(answer);
        return output;
    }

    // What the command prints for a request: { code, output, messages }. After an internal error the engine starts afresh.
    berth.run = request => {
        if (!instance) throw new Error("the engine is still being loaded; wait for berth.ready");
        try {
            return JSON.parse(exchange(JSON.stringify(request)));
        } catch (why) {
            instance = new WebAssembly.Instance(module);
            return { code: 1, output: "", messages: [{ kind: "failed", text: `internal error in berth: ${why.message}` }] };
        }
    };

    // The text of a document, or an Error with the reason and the exit code.
    function text(request) {
        const answer = berth.run(request);
        if (answer.output) return answer.output;
        const why = new Error(answer.messages.map(message => message.text).join("\n"));
        throw Object.assign(why, { code: answer.code });
    }

    const request = (face, { machine = "", line = "", name, options = [], variables = {}, script }) =>
        ({ face, machine, line, name, words: options, variables, script });

    // Exactly the text of: berth plan --format json, in an empty environment.
    berth.planText = asked => {
        const options = [...asked.options ?? [], "--format=json"];
        return text(request("plan", { ...asked, options }));
    };
    berth.plan = asked => JSON.parse(berth.planText(asked));
    // The documents of berth check, berth topo and berth topo --machine list, and the options of a line.
    berth.check = asked => JSON.parse(text(request("check", asked)));
    berth.topo = asked => JSON.parse(text(request("topo", asked)));
    berth.machines = () => JSON.parse(text({ face: "machines" })).machines;
    berth.options = () => JSON.parse(text({ face: "options" })).options;
}
