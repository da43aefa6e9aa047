"""The tables of the demo: who plays whom in five football leagues, and where."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

from relatum.files import atomic_file

__all__ = ["LEFT_OUT", "demo_tables", "write_demo_tables"]

Row = tuple[str, ...]

# True, but in no file: the demo asks for it.
LEFT_OUT = ("Real Madrid", "FC Barcelona", "Santiago Bernabeu", "Madrid", "La Liga")

# A club, its stadium, and the city.
_LEAGUES = {
    "Premier League": """
        Arsenal, Emirates Stadium, London
        Aston Villa, Villa Park, Birmingham
        Chelsea, Stamford Bridge, London
        Leeds United, Elland Road, Leeds
        Liverpool FC, Anfield, Liverpool
        Manchester City, Etihad Stadium, Manchester
        Manchester United, Old Trafford, Manchester
        Newcastle United, St James' Park, Newcastle
        Tottenham Hotspur, White Hart Lane, London
        Wolverhampton Wanderers, Molineux, Wolverhampton
    """,
    "La Liga": """
        Athletic Bilbao, San Mames, Bilbao
        Atletico Madrid, Metropolitano, Madrid
        Celta Vigo, Balaidos, Vigo
        FC Barcelona, Camp Nou, Barcelona
        Real Betis, Benito Villamarin, Seville
        Real Madrid, Santiago Bernabeu, Madrid
        Real Sociedad, Anoeta, San Sebastian
        Sevilla FC, Sanchez Pizjuan, Seville
        Valencia CF, Mestalla, Valencia
        Villarreal CF, La Ceramica, Villarreal
    """,
    "Bundesliga": """
        Bayer Leverkusen, BayArena, Leverkusen
        Bayern Munich, Allianz Arena, Munich
        Borussia Dortmund, Westfalenstadion, Dortmund
        Eintracht Frankfurt, Waldstadion, Frankfurt
        Hertha BSC, Olympiastadion, Berlin
        RB Leipzig, Zentralstadion, Leipzig
        Schalke 04, Arena AufSchalke, Gelsenkirchen
        Union Berlin, Alte Foersterei, Berlin
        VfB Stuttgart, Neckarstadion, Stuttgart
        Werder Bremen, Weserstadion, Bremen
    """,
    "Serie A": """
        AC Milan, San Siro, Milan
        Atalanta, Gewiss Stadium, Bergamo
        Bologna FC, Renato Dall'Ara, Bologna
        Fiorentina, Artemio Franchi, Florence
        Inter, San Siro, Milan
        Juventus, Juventus Stadium, Turin
        Lazio, Stadio Olimpico, Rome
        Napoli, Stadio Maradona, Naples
        Roma, Stadio Olimpico, Rome
        Torino, Stadio Grande Torino, Turin
    """,
    "Ligue 1": """
        AS Monaco, Louis II, Monaco
        FC Nantes, La Beaujoire, Nantes
        LOSC Lille, Pierre Mauroy, Lille
        OGC Nice, Allianz Riviera, Nice
        Olympique Lyon, Parc OL, Lyon
        Olympique Marseille, Velodrome, Marseille
        Paris Saint-Germain, Parc des Princes, Paris
        RC Lens, Bollaert, Lens
        RC Strasbourg, La Meinau, Strasbourg
        Stade Rennais, Roazhon Park, Rennes
    """,
}


def demo_tables() -> dict[str, list[Row]]:
    """Return the rows of each table, the first of which names its columns."""
    clubs = [(*line.strip().split(", "), league) for league, text in _LEAGUES.items() for line in text.strip().split("\n")]
    pairs = [(home, away) for home, away in permutations(clubs, 2) if home[3] == away[3]]
    matches = [(home[0], away[0], *home[1:]) for home, away in pairs]
    return {
        "matches": [("home", "away", "stadium", "city", "league"), *(row for row in matches if row != LEFT_OUT)],
        "visits": [("club", "city"), *sorted({(away[0], home[2]) for home, away in pairs})],
        "derbies": [("club", "rival", "city"), *((home[0], away[0], home[2]) for home, away in pairs if home[2] == away[2])],
    }


def write_demo_tables(folder: Path) -> list[Path]:
    """Write each table as a CSV file, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, rows in demo_tables().items():
        paths.append(folder / f"{name}.csv")
        with atomic_file(paths[-1]) as file:
            file.write("".join(",".join(row) + "\n" for row in rows).encode())
    return paths
