// Runs before the page is drawn, so that a dark page never flashes white.

const KEY = 'colorMode';
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');

/** Where pages may store nothing, the choice lasts as long as the page. @type {string | null} */
let chosen = null;
try {
  chosen = localStorage.getItem(KEY);
} catch {}

const isDark = () => {
  return chosen === 'dark' || (chosen !== 'light' && systemIsDark.matches);
};

function applyColorMode() {
  const dark = isDark();
  document.body.classList.toggle('dark-mode', dark);
  document.body.classList.toggle('light-mode', !dark);
  document.getElementById('color-mode')?.setAttribute('aria-pressed', String(dark));
}

applyColorMode();
systemIsDark.addEventListener('change', applyColorMode);
document.getElementById('color-mode')?.addEventListener('click', () => {
  chosen = isDark() ? 'light' : 'dark';
  applyColorMode();
  try {
    localStorage.setItem(KEY, chosen);
  } catch {}
});
