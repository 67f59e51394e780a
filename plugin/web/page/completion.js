// Completion of the line: options by their names or a word of their help, and the values of an option.
"use strict";
{
    const MOST = 12;
    const { at, element } = page;
    let options = [], offers = [], active = -1;

    // The word before the cursor: { text, start }.
    function wordAt(field) {
        const before = field.value.slice(0, field.selectionStart);
        const start = before.search(/[^\s]*$/);
        return { text: before.slice(start), start };
    }

    function found(text) {
        const value = /^--([\w-]+)=(.*)$/.exec(text);
        if (value) {
            const one = options.find(option => option.long === value[1]);
            const values = (one?.values ?? []).filter(choice => choice.word.startsWith(value[2]));
            return values.map(choice => ({ insert: `--${value[1]}=${choice.word}`, help: choice.help || one.help }));
        }
        if (!text.startsWith("-")) return [];
        const name = text.replace(/^-+/, "").toLowerCase();
        const starts = options.filter(option => option.long?.startsWith(name) || text.length === 2 && option.short === text[1]);
        const others = options.filter(option => name.length > 2 && !starts.includes(option) && `${option.long} ${option.help}`.toLowerCase().includes(name));
        return [...starts, ...others].filter(option => option.long).map(option => ({
            insert: `--${option.long}${option.value && !option.optional ? "=" : ""}`,
            show: `${option.short ? `-${option.short}, ` : ""}--${option.long}${option.value ? `=${option.value}` : ""}`, help: option.help,
        }));
    }

    function close(field) {
        offers = [];
        active = -1;
        at("offers").hidden = true;
        field.removeAttribute("aria-activedescendant");
    }

    function accept(field, offer, changed) {
        const { start } = wordAt(field);
        const rest = field.value.slice(field.selectionStart);
        const more = offer.insert.endsWith("=") || /^\s/.test(rest) ? "" : " ";
        field.value = field.value.slice(0, start) + offer.insert + more + rest;
        field.selectionStart = field.selectionEnd = start + offer.insert.length + more.length;
        close(field);
        changed();
        if (offer.insert.endsWith("=")) open(field, changed);
    }

    function open(field, changed) {
        offers = found(wordAt(field).text).slice(0, MOST);
        if (!offers.length || offers.length === 1 && offers[0].insert === wordAt(field).text) return close(field);
        active = -1;
        at("offers").replaceChildren(...offers.map((offer, number) => element("li", {
            id: `offer${number}`, role: "option", "aria-selected": "false",
            onmousedown: event => {
                event.preventDefault();
                accept(field, offer, changed);
            },
        }, element("code", {}, offer.show ?? offer.insert), " ", element("small", {}, offer.help))));
        at("offers").hidden = false;
        return undefined;
    }

    function move(field, step) {
        active = (active + step + offers.length) % offers.length;
        [...at("offers").children].forEach((item, number) => item.setAttribute("aria-selected", `${number === active}`));
        at("offers").children[active].scrollIntoView({ block: "nearest" });
        field.setAttribute("aria-activedescendant", `offer${active}`);
    }

    function key(field, event, changed) {
        if (!offers.length) return;
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step) move(field, step);
        else if (event.key === "Escape") close(field);
        else if ((event.key === "Enter" || event.key === "Tab") && active >= 0) accept(field, offers[active], changed);
        else return;
        event.preventDefault();
    }

    page.complete = (field, described, changed) => {
        options = described;
        field.addEventListener("input", () => open(field, changed));
        field.addEventListener("keydown", event => key(field, event, changed));
        field.addEventListener("blur", () => close(field));
    };
}
