"""Spanish words that name times."""

from memsense.search.question.time.tables.table import Table

TABLE = Table(
    months=(
        "enero|ene febrero|feb marzo abril|abr mayo junio|jun julio|jul agosto|ago"
        " septiembre|setiembre|sept|sep octubre|oct noviembre|nov diciembre|dic"
    ),
    weekdays="lunes martes miércoles|miercoles jueves viernes sábado|sabado domingo",
    seasons="primavera verano otoño|otono invierno",
    units=(
        "hour=hora/horas day=día|dia/días|dias week=semana/semanas"
        " weekend=fin_de_semana|finde/fines_de_semana month=mes/meses quarter=trimestre++s"
        " year=año|ano|anio/años|anios 2_week=quincena 6_month=medio_año|semestre 10_year=década++s"
    ),
    numbers="un|una|uno dos tres cuatro cinco seis siete ocho nueve diez once doce 15=quince",
    ordinals="primer+o++a segund+o+a tercer++o+a cuart+o+a",
    vague=(
        "2-2=un_par_de|par_de 2-4=unos|unas|algun+os+as|unos_cuantos|unas_cuantas|pocos|pocas"
        " 3-5=vari+os+as"
    ),
    roles=(
        "Z=dentro_de e=en|en_el_mes_de|durante|en_el_transcurso_de f=el"
        " s=desde|desde_el|a_partir_de|a_partir_del|desde_la"
        " b=antes_de|antes_del|previo_a|previo_al|antes|anterior_al|anterior_a"
        " a=después_de|después_del|tras|tras_el|posterior_a|siguiente_al|siguiente_a"
        " u=hasta|hasta_el|hasta_la y=para|a_fecha_de|a_más_tardar|como_muy_tarde|a_fecha_del"
        " h=por|sobre|alrededor_de|a_lo_largo_de|a_lo_largo_del k=entre t=a|al &=y|e |=o|u o=de"
        "|del|del_mes_de|mes_de @=calle|avenida|plaza|señor|señora|sr|sra"
        " d=la|los|las B=pasad+o+a+os+as l=últim+o+a+os+as|anterior m=antepasad+o+a"
        " P=este|esta|estos|estas C=próxim+o+a|proxim+o+a|próxim+os+as|siguiente|que_viene"
        " ^=justo|inmediatamente|directamente|enseguida $=última_vez %=primera_vez G=hace"
        " A=atrás|atras"
        " T=por_la_mañana|por_la_tarde|por_la_noche|noche|tarde|al_mediodía|en_la_noche"
    ),
    named=(
        "0=hoy|esta_mañana|esta_tarde 1=ayer|anoche"
        " 2=anteayer|antier|antes_de_ayer|anteanoche|antes_de_anoche"
        " -1=mañana_por_la_mañana|mañana_por_la_tarde|mañana_por_la_noche -2=pasado_mañana"
    ),
    next_days="1=día_siguiente -1=víspera|día_anterior",
    tonight="esta noche",
    recently="el otro día|la otra noche|hace poco|el otro dia|recientemente",
    feasts=(
        "easter=pascua|domingo_de_pascua|domingo_de_resurrección|semana_santa"
        " good_friday=viernes_santo pentecost=pentecostés carnival=carnaval++es"
        " christmas=navidad++es christmas_eve=nochebuena new_year=año_nuevo"
        " new_years_eve=nochevieja|fin_de_año valentine=san_valentín|día_de_los_enamorados"
        " halloween=halloween all_saints=todos_los_santos|día_de_los_muertos|día_de_muertos"
        " epiphany=reyes_magos|día_de_reyes|reyes assumption=asunción"
        " labour_day=día_del_trabajo|día_del_trabajador"
    ),
    parts=(
        "early=principios|a_principios|comienzos|a_comienzos|inicios|a_inicios|al_principio"
        " first_half=primera_mitad|primer_semestre second_half=segunda_mitad|segundo_semestre"
        " mid=mediados|a_mediados|mitad late=finales|a_finales|fines|a_fines|final|al_final|fin"
    ),
    decades=(
        "1950=años_50|años_cincuenta|cincuenta 1960=años_60|años_sesenta 1970=años_70|años_setenta"
        " 1980=años_80|años_ochenta 1990=años_90|años_noventa|noventa"
    ),
    counted=(
        "euro+s+|dólares|pesos|personas|gente|pasos|metros|kilómetros|km|kg|páginas|líneas|palabras"
        "|días|horas|veces|puntos|calorías|archivos|clientes|usuarios|empleados|gramos|litros"
        "|unidades|pruebas|minutos|segundos|habitantes|participantes|mb|gb|kb|ms|por"
    ),
    future="voy|vas|va|vamos|van|será++n|habrá|haré|haremos|tendr+é+emos",
    habits="cada|todos los|todas las|todo++s|todas|por",
    common=(
        "qué|que|cuándo|cuando|dónde|donde|quién|quien|cómo|cuál++es|cuánto|hice|hicimos|pasó|el|la"
        "|los|las|un|una|de|del|en|mi|me|mis|nos|con|por|y|es|fue|fui|fuimos|era|había|hubo|he|ha"
        "|yo|para|al|se|lo|estuve|comí|su|tuve|sobre"
    ),
    shared=(
        "e|o|u|a|y|un|once|tarde|para|por|este|esta|ano|ago|feb|sep|sept|oct|nov|jun|jul|dic|ene"
        "|antes|hace|final|fin|sobre|de|del|en|el|al|la|los|las|par de|pasado|reyes|dia|dias|noche"
        "|mes|tras|entre|seis|cada"
    ),
    topicless=(
        "paso|ocurrió|sucedió|hecho|pasado|hacer|haciendo|cosa+s+|todo|todas|todos|día|días|semana"
        "|mes|año|anoté|escribí|apunté|notas|dime|muéstrame|cuéntame|ese|esa|eso|hacía|estaba|lista"
        "|recuerda|recuérdame|acontecimientos"
    ),
    month_leads="esubyahgkfodBCPltq",
    year_leads="esubygkaoJ",
    weekday_leads="f",
    capital="never",
    cardinal_days=True,
)
