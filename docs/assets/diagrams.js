// Runs after mermaid.js, before Material draws. Two things Material leaves open: the heads of arrows in
// sequence diagrams, which mermaid now names anew in each diagram, are dark on dark; and on a phone a wide
// diagram shrinks until nobody can read it, while at its own size it scrolls in its own box. There nodes are
// smaller and stand closer, so that most need not.
const useMaxWidth = matchMedia("(min-width: 45em)").matches
const closer = useMaxWidth ? {} : { nodeSpacing: 20, padding: 8 }
const initialize = mermaid.initialize
mermaid.initialize = settings =>
  initialize({
    ...settings,
    flowchart: { ...settings.flowchart, useMaxWidth, ...closer },
    sequence: { ...settings.sequence, useMaxWidth },
    themeCSS: `${settings.themeCSS}
      [id$="arrowhead"] path, [id$="crosshead"] path, [id$="filled-head"] path {
        fill: var(--md-mermaid-edge-color) !important;
        stroke: var(--md-mermaid-edge-color) !important;
      }`,
  })
