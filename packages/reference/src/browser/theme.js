// Runs before the page is drawn, so that a dark page never flashes white.

const KEY = 'colorMode';
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');

const isDark = () => {
  const chosen = localStorage.getItem(KEY);
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
  localStorage.setItem(KEY, isDark() ? 'light' : 'dark');
  applyColorMode();
});
