// Runs in the browser, in a document beside the book's pages (ci/book writes the list `pages` before it): opens each page in a frame, as a
// reader would see it, follows its links and looks at its pictures. The last line has the totals.
const broken = [], opened = new Map();
let links = 0, pictures = 0;

// The page as the browser has it, its own scripts done.
function open(page) {
    return new Promise(resolve => {
        const frame = document.createElement("iframe");
        frame.width = 1000;
        frame.onload = () => setTimeout(() => {
            opened.set(frame.contentWindow.location.pathname, frame.contentDocument);
            resolve();
        }, 50);
        frame.src = page;
        document.body.append(frame);
    });
}

const asked = new Map();
function isThere(url) {
    if (!asked.has(url)) {
        asked.set(url, new Promise(resolve => {
            const request = new XMLHttpRequest();
            request.onload = () => resolve(true);
            request.onerror = () => resolve(false);
            request.open("GET", url);
            request.send();
        }));
    }
    return asked.get(url);
}

async function follow(page, link) {
    const url = new URL(link.href);
    if (url.protocol !== "file:") return;
    links += 1;
    const target = opened.get(url.pathname);
    const heading = decodeURIComponent(url.hash.slice(1));
    const holds = target ? !heading || target.getElementById(heading) : !url.pathname.endsWith("/") && await isThere(url.pathname);
    if (!holds) broken.push(`${page}: ${link.getAttribute("href")}`);
}

async function main() {
    for (const page of pages) await open(page);
    for (const [path, found] of opened) {
        const page = path.split("/html/").pop();
        if (!found.querySelector("main h1")) broken.push(`${page}: has no heading`);
        if (!found.querySelector("mdbook-sidebar-scrollbox a, .sidebar a")) broken.push(`${page}: has no contents beside it`);
        for (const link of found.querySelectorAll("a[href]")) await follow(page, link);
        for (const picture of found.querySelectorAll("img")) {
            pictures += 1;
            await picture.decode().catch(() => {});
            if (!picture.naturalWidth) broken.push(`${page}: ${picture.getAttribute("src")}`);
        }
    }
    broken.push(`${opened.size} pages, ${links} links, ${pictures} pictures, ${broken.length} broken`);
    document.getElementById("result").textContent = broken.join("\n");
}
main();
