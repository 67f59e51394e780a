// Sets of CPUs as the command writes them, and elements of the page. Text is only ever set as text, never as markup.
"use strict";
const page = {};
{
    // "0-3,8" as numbers.
    page.numbers = list => (list ?? "").split(",").filter(Boolean).flatMap(part => {
        const [first, last = first] = part.split("-").map(Number);
        return Array.from({ length: last - first + 1 }, (_, at) => first + at);
    });

    // Numbers as "0-3,8".
    page.list = numbers => {
        const sorted = [...numbers].sort((one, other) => one - other);
        const runs = [];
        for (const number of sorted) {
            const run = runs.at(-1);
            if (run && number === run[1] + 1) run[1] = number;
            else runs.push([number, number]);
        }
        return runs.map(([first, last]) => first === last ? `${first}` : `${first}-${last}`).join(",");
    };

    // page.element("p", { class: "hint" }, "text", child…)
    page.element = (name, attributes = {}, ...content) => {
        const made = document.createElement(name);
        for (const [key, value] of Object.entries(attributes)) {
            if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
            else if (value === true) made.setAttribute(key, "");
            else if (value !== undefined && value !== null && value !== false) made.setAttribute(key, value);
        }
        made.append(...content.filter(part => part !== undefined && part !== null));
        return made;
    };
    page.at = id => document.getElementById(id);
    page.counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

    // A table with a caption; each row is a list of texts.
    page.table = (caption, head, rows, attributes = {}) => {
        const { element } = page;
        const cells = (name, row) => row.map((text, at) => {
            const scope = name === "th" ? "col" : at === 0 ? "row" : undefined;
            return element(scope ? "th" : "td", { scope }, `${text ?? ""}`);
        });
        return element("table", attributes, element("caption", {}, caption),
            element("thead", {}, element("tr", {}, ...cells("th", head))),
            element("tbody", {}, ...rows.map(row => element("tr", {}, ...cells("td", row)))));
    };
}
