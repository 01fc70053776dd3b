const PATHS = {
  play: "M8 5v14l11-7z",
  film: "M4 5h16v14H4zm2 2v2h2V7zm0 4v2h2v-2zm0 4v2h2v-2zm10-8v2h2V7zm0 4v2h2v-2zm0 4v2h2v-2zM10 9v6l4.5-3z",
  pause: "M7 5h4v14H7zM13 5h4v14h-4z",
  step: "M6 5v14l9-7zM16 5h3v14h-3z",
  restart: "M5 5h3v14H5zM20 5v14l-11-7z",
  undo: "M9 7V3L3 9l6 6v-4h5a4 4 0 0 1 0 8h-3v2h3a6 6 0 0 0 0-14z",
  branch: "M6 3a3 3 0 0 1 1 5.8v6.4A3 3 0 1 1 5 15V9A3 3 0 0 1 6 3m12 2a3 3 0 0 1 1 5.8C19 15 13 13 11 17l-1.6-1.2C12 12 17 14 17 10.800A3 3 0 0 1 18 5",
  lock: "M7 10V8a5 5 0 0 1 10 0v2h1v10H6V10zm2 0h6V8a3 3 0 0 0-6 0z",
  share: "M16 5a3 3 0 1 1 .8 2L9.9 11a3 3 0 0 1 0 2l6.9 4a3 3 0 1 1-.9 1.700l-7-4a3 3 0 1 1 0-5.400l7-4z",
  help: "M11 17h2v2h-2zm1-14a5 5 0 0 0-5 5h2a3 3 0 1 1 4.5 2.600C12 11.7 11 12.5 11 15h2c0-1.5.6-1.9 1.9-2.800A5 5 0 0 0 12 3",
  theme: "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20m0 2v16a8 8 0 0 1 0-16",
  close: "M6.4 5 12 10.6 17.6 5 19 6.4 13.4 12 19 17.6 17.6 19 12 13.4 6.4 19 5 17.6 10.6 12 5 6.400z",
  sliders: "M4 7h9a3 3 0 0 1 5.800 0H20v2h-1.200a3 3 0 0 1-5.800 0H4zm0 8h1.200a3 3 0 0 1 5.800 0H20v2h-9a3 3 0 0 1-5.800 0H4z",
  fit: "M4 9V4h5v2H6v3zm11-5h5v5h-2V6h-3zM4 15h2v3h3v2H4zm14 0h2v5h-5v-2h3z",
} as const;

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width="18" height="18" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="currentColor" fill-rule="evenodd" />
    </svg>
  );
}
