// The fields beside the line: options that change the line and follow it, rules of the site, variables.
"use strict";
page.controls = {};
{
    const all = name => [...document.querySelectorAll(`[data-${name}]`)];

    // The fields show what the line has.
    page.controls.follow = line => {
        for (const field of all("option")) {
            field.disabled = page.isFixed(line);
            const value = page.line.value(line, field.dataset.option);
            if (field.type === "checkbox") field.checked = value !== undefined;
            else if (field.tagName === "SELECT") page.controls.give(field, value ?? "");
            else if (document.activeElement !== field) field.value = /^\d+$/.test(value) ? value : "";
        }
    };

    // Gives a field its value. One that its list does not have gets a place in it, so that the engine takes or refuses it.
    page.controls.give = (field, value) => {
        if (field.tagName !== "SELECT") {
            field.value = value;
            return;
        }
        const old = field.querySelector("[data-typed]");
        const has = [...field.options].some(option => option.value === value && option !== old);
        if (old) old.remove();
        if (!has) field.append(page.element("option", { "data-typed": true, value }, value));
        field.value = value;
    };

    page.controls.listen = (line, changed) => {
        for (const field of all("option")) {
            field.addEventListener("input", () => {
                const { option, short } = field.dataset;
                const value = field.type === "checkbox" ? field.checked || undefined : field.value || undefined;
                line.value = page.line.with(line.value, option, value, short);
                changed();
            });
        }
        for (const field of [...all("rule"), ...all("variable")]) field.addEventListener("input", changed);
    };

    // The site's rules as options of berth plan, and the variables.
    page.controls.read = () => {
        const options = [], variables = {};
        for (const field of all("rule")) {
            const { rule } = field.dataset, value = field.value.trim();
            if (!value) continue;
            if (rule === "more") options.push(...value.split(/\s+(?=--)/).flatMap(text => /^--[\w-]+ \S/.test(text) ? [text.replace(/ +/, "=")] : [text]));
            else if (rule === "variables") Object.assign(variables, page.line.variables(`${value} srun`));
            else options.push(`--${rule}=${value}`);
        }
        for (const field of all("variable")) if (field.value.trim()) variables[field.dataset.variable] = field.value.trim();
        return { options, variables };
    };

    // Every field with a name and a value, for the address.
    page.controls.fields = () => [...all("rule").map(field => [field.dataset.rule, field]), ...all("variable").map(field => [field.dataset.variable, field])];

    page.controls.open = () => {
        for (const fold of ["site-rules", "openmp"].map(page.at)) {
            if ([...fold.querySelectorAll("input, select")].some(field => field.value)) fold.open = true;
        }
        if (page.at("other").value) page.at("comparison").open = true;
    };
}
