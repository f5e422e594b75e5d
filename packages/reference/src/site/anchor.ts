/** The link of a heading to itself, on the line of its last word. @param text of the heading, as HTML without elements */
export const renderAnchor = (id: string, text: string): string =>
  `&nbsp;<a class="anchor" href="#${id}" aria-label="Link to ${text.replaceAll('"', '&quot;')}">#</a>`;
