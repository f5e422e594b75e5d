// Runs before the page is drawn: a dark page must never flash white. Without a choice, the page follows the system.

const KEY = 'colorMode';
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
const page = document.documentElement;
try {
  const chosen = localStorage.getItem(KEY);
  if (chosen !== null) page.dataset['theme'] = chosen;
} catch {} // if storage is forbidden, a choice lasts as long as the page

addEventListener('DOMContentLoaded', () => {
  const button = document.getElementById('color-mode');
  const isDark = () => (page.dataset['theme'] ?? (systemIsDark.matches ? 'dark' : 'light')) === 'dark';
  const show = () => button?.setAttribute('aria-pressed', String(isDark()));
  show();
  systemIsDark.addEventListener('change', show);
  button?.addEventListener('click', () => {
    const chosen = isDark() ? 'light' : 'dark';
    page.dataset['theme'] = chosen;
    show();
    try {
      localStorage.setItem(KEY, chosen);
    } catch {}
  });
});
