// The colours of brokers. Every coloured cell also shows the broker's id, since not everybody can distinguish
// colours. Dark text on a light colour is readable in both themes.

const FIRST = [205, 35, 150, 330, 265, 60, 180, 10, 100, 235, 300, 85];

/** The background of a broker. */
export function brokerColor(id) {
  if (id === null || id === undefined) return "transparent";
  const place = Math.abs(id) - 1;
  const hue = place >= 0 && place < FIRST.length ? FIRST[place] : Math.round((Math.abs(id) * 137.508) % 360);
  // Brokers with the same hue differ in lightness.
  const round = Math.floor(Math.abs(id) / 12) % 3;
  return `hsl(${hue} 70% ${[74, 82, 68][round]}%)`;
}
