// What people take away: the line, a link, the picture for documents, the JSON.
"use strict";
{
    const { at, element } = page;

    page.done = text => {
        at("done").textContent = text;
    };

    page.copy = async (text, done) => {
        try {
            await navigator.clipboard.writeText(text);
            page.done(done);
        } catch {
            page.done(byHand(text) ? done : "The browser does not allow copying here");
        }
    };

    // From a disk there may be no clipboard but this one.
    function byHand(text) {
        const field = element("textarea", { class: "aside", "aria-hidden": "true" });
        field.value = text;
        document.body.append(field);
        field.select();
        const copied = document.execCommand("copy");
        field.remove();
        return copied;
    }

    function save(blob, name) {
        const link = element("a", { href: URL.createObjectURL(blob), download: name });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
        page.done(`${name} is saved`);
    }

    // The document of the command in a format, of the step that is shown, or undefined with the reason on the page.
    page.document = (state, format) => {
        const done = berth.run({ face: "plan", ...page.asked(state, state.line, [`--format=${format}`], state.step?.text) });
        if (!done.output) page.done("There is no plan to save");
        return done.output || undefined;
    };

    async function png(svg) {
        const picture = new Image();
        picture.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
        await picture.decode();
        const canvas = element("canvas", { width: picture.naturalWidth * 2, height: picture.naturalHeight * 2 });
        canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
        URL.revokeObjectURL(picture.src);
        return new Promise(resolve => canvas.toBlob(resolve, "image/png"));
    }

    page.takeaway = state => {
        const on = (id, act) => at(id).addEventListener("click", act);
        on("copy-line", () => page.copy(state().line, "The line is copied"));
        on("copy-link", () => page.copy(location.href, "The link is copied"));
        on("print", () => window.print());
        const saved = (format, type, name) => async () => {
            const text = page.document(state(), format);
            if (text) save(name.endsWith(".png") ? await png(text) : new Blob([text], { type }), name);
        };
        on("save-svg", saved("svg", "image/svg+xml", "berth-plan.svg"));
        on("save-png", saved("svg", "image/png", "berth-plan.png"));
        on("save-json", saved("json", "application/json", "berth-plan.json"));
    };
}
