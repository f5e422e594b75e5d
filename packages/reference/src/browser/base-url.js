// The commands of the guides name an example. On an installation's own pages they name the installation, and can be
// pasted as they are.

const EXAMPLES = /http:\/\/127\.0\.0\.1:3000|https:\/\/petstore\.example\.com/g;
const root = new URL(document.querySelector('main')?.dataset['root'] ?? '/', location.href).href.replace(/\/$/, '');

for (const code of document.querySelectorAll('main pre code')) {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (text.nodeValue !== null) text.nodeValue = text.nodeValue.replace(EXAMPLES, root);
  }
}
