// Runs in a document beside the page: asks the engine what the command has answered, then walks through the page in a
// frame (walk.js). The last line of the result says how many of all failed.
"use strict";
const failed = [], said = [];
addEventListener("securitypolicyviolation", event => failed.push(`content policy: ${event.violatedDirective}`));

// Where two texts part.
function apart(one, other) {
    let at = 0;
    while (at < one.length && one[at] === other[at]) at += 1;
    return `byte ${at}: page ${JSON.stringify(one.slice(at, at + 80))}, command ${JSON.stringify(other.slice(at, at + 80))}`;
}

function compare({ machine, line, options, code, output, errors }) {
    const { text, name } = machines[machine];
    const about = `${name}, ${options.join(" ")}, ${line}`;
    let found = "";
    try {
        found = berth.planText({ machine: text, name, line, options });
    } catch (why) {
        if (output) failed.push(`${about}: ${why.message}`);
        if (why.code !== code) failed.push(`${about}: code ${why.code}, and the command has ${code}`);
        const first = why.message.split("\n")[0].replace(/^error: /, "");
        if (!errors.includes(first)) failed.push(`${about}: says ${why.message}, and the command ${errors}`);
    }
    if (found !== output) failed.push(`${about}: ${apart(found, output)}`);
}

async function main() {
    const start = performance.now();
    await berth.ready;
    cases.forEach(compare);
    const plans = cases.filter(one => one.output).length;
    said.push(`${location.protocol} ${cases.length} lines on ${machines.length} machines compared, ${plans} plans, in ${Math.round(performance.now() - start)} ms`);
    await walk();
    said.push(...failed, `${failed.length} failed`);
    await fetch(`${SERVER}/result`, { method: "POST", mode: "no-cors", body: said.join("\n") });
}
main().catch(why => fetch(`${SERVER}/result`, { method: "POST", mode: "no-cors", body: `${why.stack}\n1 failed` }));
