"""French words that name times."""

from memsense.search.question.time.tables.table import Table

TABLE = Table(
    months=(
        "janv+ier+ février|fevrier|févr|fév mars avril|avr mai juin juil+let+ août|aout septembre"
        " octobre|oct novembre|nov décembre|decembre|déc"
    ),
    weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
    seasons="printemps été|ete automne hiver",
    units=(
        "hour=heure/heures day=jour/jours week=semaine/semaines"
        " weekend=week_end|week+end+-end+-end/weekends month=mois quarter=trimestre++s"
        " year=an|année|annee/ans|années|annees 2_week=quinzaine|quinzaine_de_jours|quinze_jours"
        " 6_month=semestre 10_year=décennie++s"
    ),
    numbers="un|une deux trois quatre cinq six sept huit neuf dix onze douze",
    ordinals="premi+er+ère+ere deuxième|second++e|deuxieme troisi+ème+eme quatri+ème+eme",
    vague="2-2=une_paire_de|un_couple_de 2-4=quelques 3-5=plusieurs",
    roles=(
        "Z=dans e=en|au_mois_de|au_mois_d|pendant|durant|au_cours_de|au_cours_du|lors_de|lors_du"
        "|courant f=le"
        " s=depuis|depuis_le|à_partir_de|à_partir_du|dès|à_compter_du|à_compter_de|a_partir_du"
        " b=avant|avant_le|avant_la|antérieur_à|précédant|avant_l"
        " a=après|apres|suivant|après_le|apres_le"
        " u=jusqu_à|jusqu_en|jusqu_au|jusque|jusqu_à_la|jusqu_a"
        " y=d_ici|d_ici_à|d_ici_le|en_date_du|à_la_date_du|au_plus_tard"
        " h=pour|vers|autour_de|sur|lors_des|au_long_de|durant_les|au_cours_des|au_cours k=entre"
        " t=à|au|aux &=et |=ou o=de|d|du|des|du_mois_de|du_mois_d|mois_de|mois_d @=rue|avenue"
        "|boulevard|place|mme|m d=l|la|les"
        " l=derni+er+ère+ers+ères|passé++e+s|précédent++e m=avant-derni+er+ère|avant_dernière"
        " P=ce|cet|cette|ces x=prochain++e+s+es|suivante"
        " ^=juste|directement|immédiatement|tout_de_suite $=dernière_fois|en_dernier"
        " %=première_fois G=il_y_a|voilà|voici|y_a A=plus_tôt|auparavant c=ci|là"
        " T=matin|soir|midi|nuit|après-midi|après_midi"
    ),
    named=(
        "0=aujourd_hui|ce_matin|cet_après-midi|cet_après_midi"
        " 1=hier|hier_soir|hier_matin|la_nuit_dernière|la_veille_au_soir 2=avant-hier|avant_hier"
        " -1=demain -2=après-demain|après_demain"
    ),
    next_days="1=lendemain -1=veille",
    tonight="ce soir|cette nuit",
    recently="l autre jour|l autre soir|ces jours-ci|récemment",
    feasts=(
        "easter=pâques|paques|dimanche_de_pâques easter_monday=lundi_de_pâques"
        " good_friday=vendredi_saint pentecost=pentec+ôte+ote|lundi_de_pentecôte"
        " ascension=ascension|jeudi_de_l_ascension carnival=mardi_gras christmas=noël|noel"
        " christmas_eve=réveillon_de_noël|veille_de_noël new_year=nouvel_an|jour_de_l_an"
        " new_years_eve=saint-sylvestre|saint_sylvestre|réveillon"
        " valentine=saint-valentin|saint_valentin halloween=halloween all_saints=toussaint"
        " assumption=assomption epiphany=épiphanie bastille_day=fête_nationale"
        " labour_day=fête_du_travail"
    ),
    parts=(
        "early=début|au_début|debut|au_début_du_mois|commencement mid=mi|milieu|au_milieu|à_la_mi"
        " late=fin|à_la_fin|la_fin first_half=première_moitié|premier_semestre"
        " second_half=seconde_moitié|deuxième_moitié|second_semestre|deuxième_semestre"
    ),
    decades=(
        "1950=années_50|années_cinquante 1960=années_60|années_soixante"
        " 1970=années_70|années_soixante-dix 1980=années_80|années_quatre-vingt"
        " 1990=années_90|années_quatre-vingt-dix|années_1990"
    ),
    counted=(
        "euro+s+|dollars|personnes|gens|pas|mètres|metres|kilomètres|km|kg|pages|lignes|mots|jours"
        "|heures|fois|points|calories|fichiers|clients|utilisateurs|employés|grammes|litres|unités"
        "|tests|minutes|secondes|habitants|participants|mo|go|ko|ms|pour"
    ),
    future="vais|vas|va|allons|allez|vont|sera|seront|aura|auront|ferai|ferons|aurai|serai",
    habits="chaque|tous les|toutes les|tout|tous|toutes|par",
    common=(
        "en|que|qu|est|ce|j|ai|je|nous|avons|le|la|les|un|une|des|du|quoi|quel++le+s+les|où|quand"
        "|comment|s|il|elle|on|était|a|fait|passé|au|aux|avec|mon|ma|mes|pour|et|dans|sur|moi"
        "|pourquoi|qui|c|avai+s+t|suis|notre|combien"
    ),
    shared=(
        "hier|oct|nov|mi|fin|an|a|on|mi|passe|un|pour|sur|six|ci|second|dix|ou|et|le|la|les|de|du"
        "|des|d|l|au|en|ce|demain|ete|suivant|depuis|dans"
    ),
    topicless=(
        "fait+e+s|passée|y|eu|me|m|étais|arrivé++e|lieu|faisai+s+t|tout++es|tous|cela|ça|sommes"
        "|cette|dis|montre|noté++e|notes|écrit|raconte|chose+s+|été|jour++s|semaine|mois|année"
        "|faire|rappelle|liste|donc|t"
    ),
    month_leads="esubyahgkoftx",
    year_leads="esubygkaoJ",
    season_leads="eth",
    capital="never",
    cardinal_days=True,
)
