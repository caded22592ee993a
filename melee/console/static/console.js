// Keeps the page current while somebody looks at it. Without this it works as any page does, by loading it again.
const REFRESH_MS = 2_000, PATIENCE_MS = 15_000, DOUBLE_CLICK_MS = 600
const CHANGING = ["nav", ".clock time", "#jobs", "#failed", "#cron", "#objects", "#log"]
const [said, connection, pause] = ["#said", "#connection", "#pause"].map(name => document.querySelector(name))
let last = Promise.resolve(), restsUntil = 0

// Changes what is different and nothing else: focus, scroll, selection and what is unfolded stay.
function change(old, fresh) {
  if (old.isEqualNode(fresh)) return
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = fresh.nodeValue
    return
  }
  for (const { name } of [...old.attributes]) if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name)
  for (const { name, value } of fresh.attributes) old.setAttribute(name, value)
  const staying = new Set([...fresh.children].map(child => child.id))
  for (const child of [...old.children]) if (child.id && !staying.has(child.id)) child.remove()
  const known = new Map([...old.children].filter(child => child.id).map(child => [child.id, child]))
  let at = old.firstChild
  for (const child of [...fresh.childNodes]) {
    const same = child.id ? known.get(child.id) : at && !at.id && at.nodeName === child.nodeName ? at : undefined
    // What moves loses its focus, so what stands in the way goes instead.
    while (same && at && same !== at && !at.id) at = without(at)
    if (same && same === at) at = at.nextSibling
    else old.insertBefore(same ?? child, at)
    if (same) change(same, child)
  }
  while (at) at = without(at)
}

function without(node) {
  const next = node.nextSibling
  node.remove()
  return next
}

// What has the focus, or else the first row in view, stays where it is on the screen, whatever comes or goes above it.
function steadily(changes) {
  const seen = [document.activeElement, ...document.querySelectorAll("main :is(h2, tr[id], li[id])")]
    .map(element => [element, element.getBoundingClientRect()])
    .filter(([element, box]) => element !== document.body && box.bottom > 0 && box.top < innerHeight)
  changes()
  const stayed = seen.find(([element]) => element.isConnected)
  if (stayed) scrollBy(0, stayed[0].getBoundingClientRect().top - stayed[1].top)
}

async function fetched(url, options) {
  try {
    const answer = await fetch(url, { ...options, signal: AbortSignal.timeout(PATIENCE_MS) })
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html")
    steadily(() => {
      for (const part of CHANGING) change(document.querySelector(part), fresh.querySelector(part))
      if (options) said.textContent = fresh.querySelector("#said").textContent
    })
    connection.textContent = ""
  } catch {
    connection.textContent = "No answer, trying again."
    if (options) said.textContent = "No answer came; look whether it was done."
  }
}

// One after the other, so that an older answer never comes after a newer one.
function load(url, options) {
  last = last.then(() => fetched(url, options))
  return last
}

async function order(form) {
  const row = form.closest("tr"), beside = row?.nextElementSibling ?? row?.previousElementSibling
  restsUntil = Infinity
  await load(form.action, { method: "POST" })
  restsUntil = performance.now() + DOUBLE_CLICK_MS
  // The button may be gone with its row; who works with the keyboard goes on with the row beside it.
  const heir = beside?.isConnected ? beside.querySelector("button") : said
  if (document.activeElement === document.body) heir.focus({ preventScroll: true })
}

function refresh() {
  if (document.visibilityState === "visible" && pause.ariaPressed === "false") return load(location.pathname)
}

async function refreshAgainAndAgain() {
  await refresh()
  setTimeout(refreshAgainAndAgain, REFRESH_MS)
}

// The second click of a double one would meet the button of the row that has come up.
document.addEventListener("click", event => {
  if (event.detail > 0 && event.target.matches("form button") && performance.now() < restsUntil) event.preventDefault()
})
document.addEventListener("submit", event => {
  event.preventDefault()
  order(event.target)
})
document.addEventListener("visibilitychange", refresh)
pause.addEventListener("click", () => {
  pause.ariaPressed = pause.ariaPressed === "true" ? "false" : "true"
  refresh()
})
pause.hidden = false
// What was said once is not said again when the page is loaded again.
history.replaceState(null, "", location.pathname)
setTimeout(refreshAgainAndAgain, REFRESH_MS)
