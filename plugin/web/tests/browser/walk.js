// A person's walk through the page, which is in a frame of this document: a machine, a line, one option, a correction, a
// link; then everything that somebody may drop into it by mistake or on purpose.
"use strict";
{
    const MANUAL = "srun -N1 -n8 -c7 --gpus-per-task=1 ./app";
    const MARKUP = "<img src=x onerror=\"parent.failed.push('a script ran')\"><script>parent.failed.push('a script ran')</" + "script>";
    const wait = time => new Promise(resolve => setTimeout(resolve, time));
    let frame, steps = 0;
    const times = [];

    const at = id => frame.contentDocument.getElementById(id);
    const all = selector => [...frame.contentDocument.querySelectorAll(selector)];
    const text = id => at(id).textContent;

    function expect(what, holds) {
        steps += 1;
        if (!holds) failed.push(`walk: ${what}`);
    }

    async function until(what, holds) {
        for (let turn = 0; turn < 200; turn += 1) {
            if (holds()) return expect(what, true);
            await wait(25);
        }
        return expect(what, false);
    }

    async function open(hash) {
        frame?.remove();
        frame = document.createElement("iframe");
        frame.width = 1280;
        frame.height = 900;
        const start = performance.now();
        frame.src = `index.html${hash}`;
        document.body.append(frame);
        await new Promise(resolve => { frame.onload = resolve; });
        frame.contentWindow.addEventListener("error", event => failed.push(`page: ${event.message}`));
        frame.contentWindow.addEventListener("unhandledrejection", event => failed.push(`page: ${event.reason}`));
        frame.contentDocument.addEventListener("securitypolicyviolation", event => failed.push(`content policy: ${event.violatedDirective}`));
        await until("the page is ready", () => frame.contentDocument.documentElement.dataset.ready);
        times.push(performance.now() - start);
    }

    function type(field, value, kind = "input") {
        field.value = value;
        field.dispatchEvent(new Event(kind, { bubbles: true }));
    }

    function give(name, content) {
        const files = new frame.contentWindow.DataTransfer();
        files.items.add(new frame.contentWindow.File(content, name, { type: "text/xml" }));
        at("file").files = files.files;
        at("file").dispatchEvent(new Event("change", { bubbles: true }));
    }

    const option = name => frame.contentDocument.querySelector(`[data-option="${name}"]`);
    const rule = name => frame.contentDocument.querySelector(`[data-rule="${name}"]`);
    const variable = name => frame.contentDocument.querySelector(`[data-variable="${name}"]`);
    const tasksOf = () => all("#first tbody tr[data-tasks]").length;

    async function person() {
        await open("");
        expect("the first line gives each task an L3 cache of its own", new Set(all("#first tbody tr[data-tasks]").map(row => row.cells[4].textContent)).size === 8);
        expect("and a GPU beside it", all("#first tbody tr[data-tasks]").map(row => row.cells[7].textContent).join() === "4,5,2,3,6,7,0,1");
        type(at("preset"), "lumi-g", "change");
        type(at("line"), MANUAL);
        expect("eight rows of tasks", tasksOf() === 8);
        expect("128 CPUs", all("#first .picture .cpu").length === 128);
        expect("each GPU has its task", all("#first .picture .gpu").filter(gpu => gpu.textContent.includes("→")).length === 8);
        expect("the fields follow the line", option("ntasks").value === "8" && option("cpus-per-task").value === "7");
        type(option("cpus-per-task"), "8");
        expect("a field changes the line", at("line").value === MANUAL.replace("-c7", "-c 8"));
        type(option("cpu-bind"), "cores");
        expect("a new option stands before the program", at("line").value.endsWith("--cpu-bind=cores ./app"));
        all("#first .cpu")[0].dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
        expect("a CPU lights up its task", all("#first .cpu.lit").length > 1 && text("first").includes("mask 0x"));
        const [first, second] = all("#first .cpu");
        first.focus();
        first.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
        expect("the arrow keys go from CPU to CPU", frame.contentDocument.activeElement === second && second.tabIndex === 0 && first.tabIndex === -1);
        type(at("line"), "srun -n8 --cpu-bnd=cores ./app");
        expect("a wrong word is marked", all("#first .marked")[0]?.textContent.includes("^^^^^"));
        await until("check has a correction", () => all("#first .findings button").length);
        all("#first .findings button")[0].click();
        expect("the correction has a plan", tasksOf() === 8 && !at("line").value.includes("bnd"));
        await until("the address has the line", () => decodeURIComponent(frame.contentWindow.location.hash).includes(at("line").value));
    }

    async function more() {
        const { hash } = frame.contentWindow.location, before = text("first");
        await open(hash);
        await wait(400);
        expect("a link shows the same page", text("first") === before);
        type(at("line"), "OMP_NUM_THREADS=4 OMP_PLACES=cores OMP_PROC_BIND=close srun -n2 -c8 --hint=nomultithread ./app");
        expect("OpenMP's threads stand in their tasks", all("#first .cpu small").length === 8);
        at("comparison").open = true;
        type(at("other"), "srun -n2 -c4 ./app");
        await until("two lines differ", () => /would run on other CPUs/.test(text("difference")));
        type(at("line"), "srun --dist");
        expect("an option is offered", !at("offers").hidden && text("offers").includes("--distribution"));
        type(at("line"), "#!/bin/bash\n#SBATCH -N1 -n4\nsrun -n2 ./one\nsrun -n4 ./two\n");
        expect("the steps of a script are offered", all("#first .steps button").length === 3 && option("ntasks").disabled);
        expect("a script opens with its first step", all("#first h2")[0].textContent === "srun -n2 ./one");
        all("#first .steps button")[2].click();
        expect("a step of a script is shown", tasksOf() === 4 && all("#first h2")[0].textContent === "srun -n4 ./two");
        type(at("line"), "srun -N4 -n256 ./app");
        expect("four nodes are drawn", all("#first .node").length === 4);
        await takeaway();
        await open("#machine=2x64-smt2&line=srun%20-n255%20--cpu-bind=threads%20./app");
        const start = performance.now();
        type(at("line"), "srun -n256 --cpu-bind=threads ./app");
        const drawn = frame.contentWindow.performance.getEntriesByName("picture").map(one => one.duration);
        said.push(`${location.protocol} 256 CPUs: the picture in ${Math.round(Math.min(...drawn))} ms, the whole answer in ${Math.round(performance.now() - start)} ms`);
        expect("256 CPUs are drawn within 50 ms", all("#first .picture .cpu").length === 256 && Math.min(...drawn) < 50);
    }

    // What a button saves: the name of the file, and its content.
    async function saved(id) {
        const { URL, HTMLAnchorElement } = frame.contentWindow;
        let content, name;
        const click = HTMLAnchorElement.prototype.click, make = URL.createObjectURL;
        URL.createObjectURL = blob => { content = blob; return make.call(URL, blob); };
        HTMLAnchorElement.prototype.click = function () { name = this.download; };
        at(id).click();
        await until(`${id} saves a file`, () => name);
        Object.assign(URL, { createObjectURL: make });
        HTMLAnchorElement.prototype.click = click;
        return { name, content };
    }

    async function takeaway() {
        type(at("line"), "srun -n4 ./app");
        const asked = { machine: "lumi-g", line: "srun -n4 ./app", options: ["--site=exclusive"] };
        type(at("preset"), "lumi-g", "change");
        expect("JSON is the command's", await (await saved("save-json")).content.text() === berth.planText(asked));
        expect("SVG is a picture", (await (await saved("save-svg")).content.text()).startsWith("<svg "));
        const png = new Uint8Array(await (await saved("save-png")).content.arrayBuffer());
        expect("PNG is a picture", png[1] === 80 && png[2] === 78 && png.length > 10000);
    }

    const NONSENSE = ["", " ", "\0\u0001", MARKUP, "-".repeat(5000), "'\"`$(x)", "srun ".repeat(2000), "((((".repeat(3000), "9".repeat(400), "srun -n99999999999 -N0 -c-1", "💥 ü \u202e"];

    async function nonsense() {
        const fields = all("#request input:not([type=file]):not([type=checkbox]):not([type=number]), #request textarea");
        for (const field of fields) {
            const before = field.value;
            for (const value of NONSENSE) type(field, value);
            type(field, before);
        }
        for (const value of [MARKUP, NONSENSE.join(" ")]) await open(`#machine=${encodeURIComponent(value)}&line=${encodeURIComponent(value)}&slurm=${encodeURIComponent(value)}&more=${encodeURIComponent(value)}`);
        await open("#xml=AAAA&name=%3Cb%3E&line=%");
        expect("a link with a broken XML is no end", !at("machine-message").hidden);
    }

    async function files() {
        await open("#line=srun%20-n4%20./app");
        const xml = machines.find(one => one.text.startsWith("<")).text;
        give("good.xml", [xml]);
        await until("a file is a machine", () => at("machine-message").hidden && text("machine-source").includes("good.xml"));
        await until("its XML is in the address", () => frame.contentWindow.location.hash.includes("xml="));
        const { hash } = frame.contentWindow.location, before = text("first");
        await open(hash);
        expect("a link has the file's machine", text("first").startsWith(before.slice(0, 60)) && tasksOf() > 0);
        const dropped = new frame.contentWindow.DataTransfer();
        dropped.items.add(new frame.contentWindow.File([xml], "dropped.xml"));
        frame.contentDocument.dispatchEvent(new frame.contentWindow.DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
        await until("a dropped file is a machine", () => text("machine-source").includes("dropped.xml") && tasksOf() > 0);
        const bomb = `<!DOCTYPE topology [<!ENTITY a0 "aaaaaaaaaa">${Array.from({ length: 12 }, (_, at) => `<!ENTITY a${at + 1} "${`&a${at};`.repeat(10)}">`).join("")}]><topology>&a12;</topology>`;
        const bad = {
            "large.xml": [new Uint8Array(50 << 20)], "cut.xml": [xml.slice(0, xml.length / 2)], "bomb.xml": [bomb], "empty.xml": [""],
            "text.xml": ["<nothing/>"], "old.xml": ["<topology><object type=\"Machine\" os_index=\"0\" cpuset=\"0x1\"/></topology>"],
            [`${MARKUP.replaceAll("/", "")}.xml`]: [xml.replace(/"(Package|PU|Core)"/g, `"${MARKUP.replace(/[<>"]/g, mark => `&#${mark.charCodeAt(0)};`)}"`)],
            "binary.xml": [crypto.getRandomValues(new Uint8Array(60000))],
        };
        for (const [name, content] of Object.entries(bad)) {
            give(name, content);
            await until(`${name} gives a message`, () => !at("machine-message").hidden && text("machine-message").length > 20);
            type(at("preset"), "lumi-g", "change");
            await until(`the page is alive after ${name}`, () => at("machine-message").hidden && tasksOf() > 0);
        }
    }

    // The fields change the srun of the line, whatever stands around it.
    async function fields() {
        await open("#machine=lumi-g&line=");
        type(at("line"), "cd x && srun -n4 ./app");
        expect("the fields know the srun behind &&", option("ntasks").value === "4");
        type(option("ntasks"), "8");
        expect("and change it", at("line").value === "cd x && srun -n 8 ./app");
        type(at("line"), "srun --cpu_bind=cores --hin=nomultithread ./app");
        expect("an option in another spelling", option("cpu-bind").value === "cores" && option("hint").value === "nomultithread");
        type(option("cpu-bind"), "threads");
        expect("is changed in its place", at("line").value === "srun --cpu-bind=threads --hin=nomultithread ./app");
        type(at("line"), "mpirun -n 4 ./app");
        expect("mpirun has other options", option("ntasks").disabled);
        const tasks = () => text("first").replace(/.*?tasks on/s, "");
        type(at("line"), "SLURM_HINT=nomultithread srun -n4 -c3 ./app");
        const before = tasks();
        type(at("line"), "srun -n4 -c3 ./app");
        expect("a variable matters", tasks() !== before);
        type(rule("variables"), "SLURM_HINT=nomultithread");
        expect("the field of variables is the same as before the line", tasks() === before);
        type(variable("OMP_NUM_THREADS"), "$SLURM_CPUS_PER_TASK");
        expect("the threads are as many as -c", text("first").includes("3 OpenMP threads"));
        type(at("line"), "srun -n4 ./app");
        expect("without -c only the job knows", text("first").includes("only the job knows"));
        for (const [name, value] of [["OMP_PLACES", "sokets"], ["OMP_PROC_BIND", "clsoe"]]) {
            type(variable("OMP_NUM_THREADS"), "2");
            type(variable(name), value);
            expect(`${name} is wrong`, text("first").includes(`${name}=${value}`));
            type(variable(name), "");
        }
    }

    // A link's words stay as they are; what is wrong in them is said.
    async function links() {
        await open("#machine=lumi-g&line=srun%20-n4%20./app&slurm=23.11.4");
        expect("a value beside the list is asked about", rule("slurm").value === "23.11.4");
        await open("#machine=lumi-g&line=srun%20-n4%20./app&socket=foo");
        expect("a wrong value has a message", text("machine-message").includes("foo"));
        await wait(400);
        expect("it stays in the address", frame.contentWindow.location.hash.includes("socket=foo"));
        await open("#xml=AAAA&name=n.xml&line=srun%20-n4%20./app");
        expect("a damaged XML is said", text("machine-message").includes("damaged or cut off"));
        await wait(400);
        expect("it stays in the address, too", frame.contentWindow.location.hash.includes("xml=AAAA"));
        frame.contentWindow.location.hash = "#machine=lumi-g&line=srun%20-n6%20./app";
        await until("another link follows it", () => tasksOf() === 6);
        await open("#machine=LUMI&line=srun%20-n4%20./app");
        expect("a part of a name proposes it", text("machine-message").includes("lumi-g"));
        await open("#machine=lumi-g&line=srun%20-n4%20./app&other=srun%20-n5%20./app");
        expect("two lines have a difference", !at("difference").hidden && !at("second").hidden);
        type(at("preset"), "description", "change");
        type(at("description"), "lumi");
        expect("a wrong machine leaves no answer", at("difference").hidden && at("second").hidden && !text("first") && !text("second"));
    }

    async function script() {
        const lines = "#!/bin/bash\n#SBATCH -N1 -n5 -c3 --exclusive\nsrun -n1 -c1 ./one\nsrun -c3 ./two\n", step = "srun -c3 ./two";
        await open(`#machine=lumi-g&line=${encodeURIComponent(lines)}`);
        all("#first .steps button")[2].click();
        await until("a step has its findings", () => all("#first .findings")[0]?.textContent.includes("nothing-bound"));
        const asked = { machine: "lumi-g", line: step, script: lines.trim(), options: ["--job=sbatch job.sh"] };
        frame.width = 390;
        const top = name => all(`#first ${name}`)[0].getBoundingClientRect().top;
        expect("on a narrow screen notes and findings come before the picture", top(".notes") < top(".picture") && top(".findings") < top(".picture") && top("h2") < top(".notes"));
        frame.width = 1280;
        expect("the JSON is the step's", await (await saved("save-json")).content.text() === berth.planText(asked));
        const { hash } = frame.contentWindow.location;
        await open(hash);
        expect("a link has the step", all("#first h2")[0].textContent === step);
        all("#first .steps button")[1].click();
        await until("another step has not the findings", () => frame.contentWindow.location.hash.includes("step=1"));
        expect("nothing of the other step", !text("first").includes("nothing-bound"));
        all("#first .steps button")[0].click();
        expect("the batch script itself", all("#first h2")[0].textContent === "batch script");
    }

    // After a slow plan the next one waits.
    async function slow() {
        await open("#machine=lumi-g&line=srun%20-n4%20./app");
        type(at("line"), "srun -N9999 -n99999 ./app");
        const start = performance.now();
        type(at("line"), "srun -N2 -n8 ./app");
        expect("a key after a slow plan takes no time", performance.now() - start < 200 && at("answers").hasAttribute("aria-busy"));
        await until("the plan comes later", () => tasksOf() === 8 && !at("answers").hasAttribute("aria-busy"));
    }

    // A site's own machines, which a page from a disk cannot read.
    async function presets() {
        await open("#machine=alpha&line=srun%20-n4%20./app");
        expect("a machine of the site", all("#first .picture .cpu").length === (location.protocol === "file:" ? 0 : 16));
    }

    // Over http the page works without a network after the first visit.
    async function offline() {
        if (location.protocol === "file:") return;
        const worker = await frame.contentWindow.navigator.serviceWorker.ready;
        await until("the page is kept", () => worker.active?.state === "activated");
        await fetch(`${SERVER}/offline`, { method: "POST" });
        await open("#machine=lumi-g&line=srun%20-n5%20./app");
        expect("the page works without a network", tasksOf() === 5);
    }

    window.walk = async () => {
        await person();
        await more();
        await fields();
        await links();
        await script();
        await slow();
        await nonsense();
        await files();
        await presets();
        await offline();
        expect("nothing of the markup is an element", all("#first img, #request img").length === 0);
        const time = Math.round(Math.min(...times));
        said.push(`${location.protocol} the first picture ${time} ms after the address`);
        expect("the first picture within a second", time < 1000);
        said.push(`${location.protocol} ${steps} steps of a walk`);
    };
}
