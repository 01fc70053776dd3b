// Position of the sun, for the nights of a time axis.
const RADIANS = Math.PI / 180;
const DAY = 86_400_000;
const STEP = 600_000;
/** Noon of 1 January 2000 UTC, the epoch of the formula [ms]. */
const EPOCH = Date.UTC(2000, 0, 1, 12);

/** Return the sine of the sun's elevation at a time [ms since 1970] and a place [degrees]; Astronomical Almanac, low precision. */
export function sineOfElevation(time: number, lon: number, lat: number): number {
  const days = (time - EPOCH) / DAY;
  const anomaly = (357.528 + 0.9856003 * days) * RADIANS;
  const ecliptic = (280.46 + 0.9856474 * days + 1.915 * Math.sin(anomaly) + 0.02 * Math.sin(2 * anomaly)) * RADIANS;
  const tilt = 23.44 * RADIANS;
  const declination = Math.asin(Math.sin(tilt) * Math.sin(ecliptic));
  const ascension = Math.atan2(Math.cos(tilt) * Math.sin(ecliptic), Math.cos(ecliptic));
  const sidereal = (280.46 + 360.9856474 * days + lon) * RADIANS;
  const hour = sidereal - ascension;
  return Math.sin(lat * RADIANS) * Math.sin(declination) + Math.cos(lat * RADIANS) * Math.cos(declination) * Math.cos(hour);
}

/** Sine of the elevation of the sun's centre at sunrise: refraction and the radius of the disc. */
const HORIZON = Math.sin(-0.833 * RADIANS);

/** Return begin and end of each night within a span of at most 20 days [ms since 1970]; none for a longer one. */
export function nights([from, to]: [number, number], [lon, lat]: readonly [number, number]): [number, number][] {
  if (to - from > 20 * DAY) return [];
  const found: [number, number][] = [];
  let begin: number | null = null;
  for (let time = from; time <= to + STEP; time += STEP) {
    const dark = time <= to && sineOfElevation(time, lon, lat) < HORIZON;
    if (dark && begin === null) begin = time;
    if (!dark && begin !== null) {
      found.push([begin, Math.min(time, to)]);
      begin = null;
    }
  }
  return found;
}
