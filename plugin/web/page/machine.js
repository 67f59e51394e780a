// The machine of a request: a known one, a description, or hwloc's XML that was dropped, chosen or pasted.
"use strict";
// `damaged` stands for a link whose XML cannot be read.
page.machine = { xml: "", name: "", damaged: false };
{
    const { at, element } = page;
    // hwloc's XML of the largest machines has a few megabytes.
    const MOST_BYTES = 16 << 20;
    const DESCRIPTION = "description", XML = "xml";
    let known = [];

    // Machines of the site, from presets.json beside the page: [{ name, words, source, machine }…]. From a disk there are none.
    async function sitePresets() {
        if (!/^https?:$/.test(location.protocol)) return [];
        try {
            const list = await (await fetch("presets.json")).json();
            const isOne = one => ["name", "machine"].every(key => typeof one?.[key] === "string");
            return Array.isArray(list) ? list.filter(isOne) : [];
        } catch {
            return [];
        }
    }

    page.machine.fill = async () => {
        const own = await sitePresets();
        const built = berth.machines().map(one => ({ ...one, machine: one.name }));
        known = [...own, ...built];
        const option = one => element("option", { value: one.name }, `${one.name}: ${one.words ?? ""}`);
        const groups = [["This site", own], ["Public systems", built.filter(one => one.source.includes("."))],
            ["Common servers", built.filter(one => !one.source.includes("."))]];
        at("preset").replaceChildren(...groups.filter(([, list]) => list.length).map(([label, list]) => element("optgroup", { label }, ...list.map(option))),
            element("option", { value: DESCRIPTION }, "a description …"), element("option", { value: XML }, "hwloc XML …"));
    };

    // The text of the machine that is chosen.
    page.machine.text = () => {
        const chosen = at("preset").value;
        if (chosen === DESCRIPTION) return at("description").value.trim();
        if (chosen === XML) return page.machine.xml;
        return known.find(one => one.name === chosen)?.machine ?? chosen;
    };

    page.machine.isXml = () => at("preset").value === XML;

    // What a link names: a known machine's name, or a description.
    page.machine.choose = text => {
        const one = known.find(one => one.name === text);
        at("preset").value = one ? one.name : DESCRIPTION;
        if (!one) at("description").value = text;
    };

    page.machine.useXml = (xml, name) => {
        Object.assign(page.machine, { xml, name, damaged: false });
        at("preset").value = XML;
        at("xml").value = xml.length < 200000 ? xml : "";
    };

    // Which fields matter, and where the facts come from.
    page.machine.show = why => {
        const chosen = at("preset").value, one = known.find(one => one.name === chosen);
        at("description-label").hidden = chosen !== DESCRIPTION;
        const file = page.machine.xml ? `${page.machine.name || "pasted XML"}, ${Math.ceil(page.machine.xml.length / 1024)} KiB` : "Drop a file of hwloc's XML on this page, choose it, or paste it";
        at("machine-source").textContent = chosen === XML ? file : one?.source ? `Source: ${one.source}` : "Levels such as pack, numa, l3, core, pu, each with its count";
        at("machine-message").hidden = !why;
        at("machine-message").textContent = why ?? "";
    };

    async function take(file, changed) {
        if (file.size > MOST_BYTES) {
            page.machine.show(`${file.name} has ${Math.round(file.size / 1048576)} MiB; the XML of a machine has at most ${MOST_BYTES >> 20}. Write it with: lstopo --of xml machine.xml`);
            return;
        }
        page.machine.useXml(await file.text(), file.name);
        changed();
    }

    page.machine.listen = changed => {
        at("preset").addEventListener("change", () => {
            page.machine.damaged = false;
            at("paste").open = page.machine.isXml();
            changed();
        });
        at("description").addEventListener("input", changed);
        at("file").addEventListener("change", event => event.target.files[0] && take(event.target.files[0], changed));
        at("xml").addEventListener("input", () => {
            Object.assign(page.machine, { xml: at("xml").value, name: "", damaged: false });
            at("preset").value = XML;
            changed();
        });
        document.addEventListener("dragover", event => event.preventDefault());
        document.addEventListener("drop", event => {
            event.preventDefault();
            const [file] = event.dataTransfer.files;
            if (file) take(file, changed);
        });
    };
}
